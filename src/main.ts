import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { Logger } from 'nestjs-pino';
import { AppModule } from './app.module.js';
import { configureApp } from './bootstrap.js';
import { AppConfig, ConfigError } from './config/app-config.js';
import { drainOnSignal } from './drain.js';

try {
  const config = AppConfig.fromEnv(process.env);
  const app = await NestFactory.create<NestExpressApplication>(AppModule.forRoot(config), {
    bodyParser: false,
    bufferLogs: true,
    abortOnError: false,
  });
  app.useLogger(app.get(Logger));
  await configureApp(app, config);
  drainOnSignal(app, config);
  await app.listen(config.port, config.host);
  app.get(Logger).log(`Facilitator listening on ${await app.getUrl()}`);
} catch (error) {
  const isExpected = error instanceof ConfigError || error instanceof Error;
  process.stderr.write(`${isExpected ? error.message : 'The service could not start.'}\n`);
  process.exit(1);
}
