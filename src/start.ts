import { Logger as NestLogger } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { Logger } from 'nestjs-pino';
import { AppModule } from './app.module.js';
import { configureApp } from './bootstrap.js';
import { AppConfig, ConfigError } from './platform/config/app-config.js';
import { limitsLine } from './platform/config/limits-line.js';
import { listenProblem } from './platform/http/server-limits.js';
import { ShutdownOrder } from './platform/lifecycle/shutdown-order.js';
import { logLibraryWarnings } from './platform/observability/logging.js';
import { StartError } from './protocol/errors.js';
import type { ShutdownSignal } from './shutdown-signal.js';

/** Starts the service with the settings of the environment, or says why not and ends with 1. */
export async function start(shutdown: ShutdownSignal): Promise<void> {
  try {
    const libraries = new NestLogger('Library');
    logLibraryWarnings((text) => {
      libraries.warn(text);
    });
    const config = AppConfig.fromEnv(process.env);
    const module = await AppModule.forRoot(config);
    const app = await NestFactory.create<NestExpressApplication>(module, {
      bodyParser: false,
      bufferLogs: true,
      abortOnError: false,
      // Else the framework prints what it caught before we do, with everything that hangs on it.
      autoFlushLogs: false,
    });
    app.useLogger(app.get(Logger));
    app.flushLogs();
    if (config.withoutEffect.length > 0) {
      const names = config.withoutEffect.join(', ');
      app
        .get(Logger)
        .warn(`Settings without effect: ${names}; NETWORKS does not name their chains`);
    }
    if (config.hasRole('wallet') && config.wallet === undefined) {
      app.get(Logger).log('WALLET_PROVIDER is not set: the role wallet serves nothing');
    }
    if (config.settles) app.get(Logger).log(limitsLine(config));
    await configureApp(app, config);
    shutdown.handleWith(() => app.get(ShutdownOrder).run(() => app.close()));
    await listen(app, config);
    app.get(Logger).log(`Facilitator listening on ${config.host}:${portOf(app) ?? config.port}`);
  } catch (error) {
    process.stderr.write(`${describe(error)}\n`);
    process.exit(1);
  }
}

/** @throws StartError when the port cannot be had. What the parts do at their start may fail here, too. */
async function listen(app: NestExpressApplication, { port, host }: AppConfig): Promise<void> {
  try {
    await app.listen(port, host);
  } catch (error) {
    const problem = listenProblem(error, { port, host }, { port: 'PORT', host: 'HOST' });
    throw problem === undefined ? error : new StartError(problem);
  }
}

function portOf(app: NestExpressApplication): number | undefined {
  const address: unknown = app.getHttpServer().address();
  return typeof address === 'object' && address !== null && 'port' in address
    ? Number(address.port)
    : undefined;
}

/** An error of a setting is one line, as the operator can correct it. Any other is a defect and keeps its stack. */
function describe(error: unknown): string {
  if (error instanceof ConfigError || error instanceof StartError) return error.message;
  if (error instanceof Error) return error.stack ?? error.message;
  return 'The service could not start.';
}
