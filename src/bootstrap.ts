import type { Server } from 'node:http';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { PinoLogger } from 'nestjs-pino';
import { directPosts } from './facilitator/direct-posts.js';
import { isOpen } from './platform/config/access-settings.js';
import type { AppConfig } from './platform/config/app-config.js';
import { AccessPolicy } from './platform/http/access.js';
import { noteArrival } from './platform/http/arrival.js';
import { cors } from './platform/http/cors.js';
import { answerDirectly } from './platform/http/direct-routes.js';
import { pageHeaders } from './platform/http/page-headers.js';
import { limitServer } from './platform/http/server-limits.js';
import { requestLog } from './platform/observability/logging.js';
import { ResponseObserver } from './platform/observability/response-observer.js';
import { OpenApiController } from './platform/openapi/openapi.controller.js';
import { traceRequests } from './platform/tracing/request-spans.js';

/** Setup of every instance of the application, in production and in tests alike. */
export async function configureApp(app: NestExpressApplication, config: AppConfig): Promise<void> {
  app.disable('x-powered-by');
  app.disable('etag');
  // Express answers 304 to `If-None-Match: *`, though its answers have no validator. Routes with an ETag compare it themselves.
  const { request } = app.getHttpAdapter().getInstance() as { readonly request: object };
  Object.defineProperty(request, 'fresh', { value: false });
  if (config.trustProxy !== 'off') {
    const count = Number(config.trustProxy);
    app.set('trust proxy', Number.isInteger(count) ? count : config.trustProxy);
  }
  const log = requestLog(
    await app.resolve(PinoLogger),
    app.get<ResponseObserver>(ResponseObserver),
  );
  app.get(OpenApiController).describe(app);
  const steps = [log, cors, ...(config.traces === undefined ? [] : [traceRequests])];
  app.use(...steps);
  const policy = isOpen(config.access) ? undefined : app.get<AccessPolicy>(AccessPolicy);
  const posts = config.hasRole('api') ? directPosts(app, policy) : undefined;
  // How long a settle may take counts from there.
  if (posts !== undefined) app.use([...posts.keys()], noteArrival);
  // The authorization server writes a page of its own where a request is wrong.
  app.use('/oauth/authorize', pageHeaders);
  const server: Server = app.getHttpServer();
  if (posts !== undefined) answerDirectly(server, { posts, middleware: [...steps, noteArrival] });
  limitServer(server);
}
