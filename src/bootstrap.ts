import type { NestExpressApplication } from '@nestjs/platform-express';
import type { AppConfig } from './config/app-config.js';
import { noteArrival, readBody } from './http/request-body.js';

/** Paths whose bodies are x402 JSON; other modules read their own. */
const X402_PATHS = ['/verify', '/settle', '/v1/verify', '/v1/settle', '/v2/verify', '/v2/settle'];

/** What every instance of the application has, in production and in tests alike. */
export function configureApp(app: NestExpressApplication, config: AppConfig): void {
  app.disable('x-powered-by');
  app.disable('etag');
  if (config.trustProxy !== 'off') {
    const count = Number(config.trustProxy);
    app.set('trust proxy', Number.isInteger(count) ? count : config.trustProxy);
  }
  app.enableCors({
    origin: '*',
    methods: ['GET', 'POST'],
    exposedHeaders: ['Settlement-Id', 'Settle-Finality', 'Retry-After', 'X-Request-Id'],
    maxAge: 86_400,
  });
  app.use(X402_PATHS, noteArrival, readBody(config.bodyMaxBytes));
}
