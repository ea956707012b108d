import type { Server } from 'node:http';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { Logger } from 'nestjs-pino';
import { within } from './concurrency/timing.js';
import type { AppConfig } from './config/app-config.js';
import { HealthService } from './health/health.service.js';
import { LaneManager } from './lanes/lane-manager.js';
import { ProcessRegistry } from './processes/process-registry.js';

/** Kept of the grace period for closing connections. */
const CLOSING_MS = 2000;

/**
 * On SIGTERM or SIGINT: no new requests, the running ones are answered, the lanes go to another
 * process, and this one exits with 0. A second signal does not wait.
 */
export function drainOnSignal(app: NestExpressApplication, config: AppConfig): void {
  let isDraining = false;
  const onSignal = (): void => {
    if (isDraining) process.exit(1);
    isDraining = true;
    void drain(app, config).finally(() => process.exit(0));
  };
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
}

async function drain(app: NestExpressApplication, config: AppConfig): Promise<void> {
  const logger = app.get(Logger);
  logger.log('draining');
  app.get(HealthService).drain();
  const deadline = Date.now() + config.shutdownGraceMs;
  const answered = closeServer(app.getHttpServer());
  const lanes = config.hasRole('worker') ? app.get(LaneManager) : undefined;
  // With nobody to hand the lanes to, the running requests still need them.
  if (lanes !== undefined && (await hasSuccessor(app))) {
    await until(deadline - CLOSING_MS, lanes.stop());
  }
  await until(deadline - CLOSING_MS, answered);
  await until(deadline, lanes?.stop() ?? Promise.resolve());
  await app.get(ProcessRegistry).stop();
  await until(deadline, app.close());
  logger.log('drained');
}

async function hasSuccessor(app: NestExpressApplication): Promise<boolean> {
  const registry = app.get(ProcessRegistry);
  try {
    const live = await registry.live();
    return live.some(
      ({ process: other, roles }) => other !== registry.process && roles.includes('worker'),
    );
  } catch {
    return false;
  }
}

/** Resolves when the last running request is answered. */
function closeServer(server: Server): Promise<void> {
  // A connection that is kept for another request would keep this process for as long.
  server.keepAliveTimeout = 1;
  return new Promise((resolve) => {
    server.close(() => {
      resolve();
    });
    server.closeIdleConnections();
  });
}

async function until(deadline: number, task: Promise<unknown>): Promise<void> {
  await within(
    deadline - Date.now(),
    task.catch(() => undefined),
  );
}
