import type { NestExpressApplication } from '@nestjs/platform-express';
import type { AppConfig } from './config/app-config.js';
import { PinoLogger } from 'nestjs-pino';
import { cors } from './http/cors.js';
import { pageHeaders } from './http/page-headers.js';
import { noteArrival } from './http/request-body.js';
import { limitServer } from './http/server-limits.js';
import { requestLog } from './observability/logging.js';
import { ResponseObserver } from './observability/response-observer.js';

/** Paths that note when a request came; how long a settle may take counts from there. */
const X402_PATHS = ['/verify', '/settle', '/v1/verify', '/v1/settle', '/v2/verify', '/v2/settle'];
/** Pages for people, with what they load; the one at the root comes by itself. */
const PAGES = ['/docs', '/admin', '/wallet'];

/** What every instance of the application has, in production and in tests alike. */
export async function configureApp(app: NestExpressApplication, config: AppConfig): Promise<void> {
  app.disable('x-powered-by');
  app.disable('etag');
  if (config.trustProxy !== 'off') {
    const count = Number(config.trustProxy);
    app.set('trust proxy', Number.isInteger(count) ? count : config.trustProxy);
  }
  app.use(
    requestLog(await app.resolve(PinoLogger), app.get<ResponseObserver>(ResponseObserver)),
    cors,
  );
  app.use(X402_PATHS, noteArrival);
  app.use(PAGES, pageHeaders);
  app.getHttpAdapter().getInstance().get('/', pageHeaders);
  limitServer(app.getHttpServer());
}
