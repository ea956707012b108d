import type { Server } from 'node:http';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { Logger } from 'nestjs-pino';
import { Learner } from './discovery/learning/learner.js';
import { learnsListings } from './discovery/learning/learning.module.js';
import { Rater } from './discovery/quality/rater.js';
import { SimulatedSettles } from './facilitator/simulation/simulated-settles.js';
import { SettlementWaits } from './facilitator/status/settlement-waits.js';
import { Archiver } from './history/archiver.js';
import { AuditArchiver } from './history/audit-archiver.js';
import { endsLost } from './history/lost.module.js';
import { LostSettlements } from './history/lost/lost-settlements.js';
import { DailyReconciliation } from './history/reconciliation/daily-reconciliation.js';
import { WebhookJobs } from './history/webhooks/webhook-jobs.js';
import { HealthService } from './operations/health/health.service.js';
import { TRACING } from './operations/tracing/tracing.module.js';
import { within } from './platform/concurrency/timing.js';
import type { AppConfig } from './platform/config/app-config.js';
import { reconcilesDaily } from './platform/config/reconcile-config.js';
import type { Tracing } from './platform/tracing/tracing.js';
import { Lanes } from './settlement/lanes/lanes.js';
import { ProcessRegistry } from './settlement/ledger/process-registry.js';

/** Kept of the grace period for closing connections. */
const CLOSING_MS = 2000;

/**
 * No new requests, the running ones are answered, the lanes go to another process, everything is closed.
 * Each step is taken whatever became of the one before, within the grace period.
 *
 * @throws AggregateError with what failed or ran out of time; each is logged.
 */
export async function drain(app: NestExpressApplication, config: AppConfig): Promise<void> {
  const logger = app.get(Logger);
  logger.log('draining');
  app.get(HealthService).drain();
  const deadline = Date.now() + config.shutdownGraceMs;
  const failures: unknown[] = [];
  const step = async (name: string, until: number, task: () => Promise<unknown>): Promise<void> => {
    try {
      const { inTime } = await within(until - Date.now(), task());
      if (!inTime) throw new Error(`${name}: not finished within SHUTDOWN_GRACE_MS`);
    } catch (error) {
      failures.push(error);
      logger.error({ err: error, step: name }, 'a step of draining failed');
    }
  };
  // A look-up that waits would keep the process for as long as it was asked to.
  if (config.hasRole('api')) {
    app.get(SettlementWaits).stop();
    app.get(SimulatedSettles).stop();
  }
  // Attempts take seconds, beside what else there is to end.
  const webhooks = tellsWebhooks(config) ? app.get(WebhookJobs).stop() : undefined;
  const answered = closeServer(app.getHttpServer());
  const lanes = config.hasRole('worker') ? app.get(Lanes) : undefined;
  const stopLanes = async (): Promise<void> => lanes?.stop();
  // With nobody to hand the lanes to, the running requests still need them.
  if (await hasSuccessor(app)) await step('lanes', deadline - CLOSING_MS, stopLanes);
  await step('requests', deadline - CLOSING_MS, () => answered);
  await step('lanes', deadline, stopLanes);
  if (webhooks !== undefined) await step('webhooks', deadline - CLOSING_MS, () => webhooks);
  // A run that is not kept yet is made again by another process.
  if (reconcilesDaily(config)) {
    await step('reconciliation', deadline, () => app.get(DailyReconciliation).stop());
  }
  if (endsLost(config)) {
    await step('lost settlements', deadline, () => app.get(LostSettlements).stop());
  }
  if (learnsListings(config)) {
    await step('catalogue', deadline, () => app.get(Learner).stop());
    await step('quality', deadline, () => app.get(Rater).stop());
  }
  // What the last of them has changed is archived by whoever is next.
  if (config.hasRole('history')) {
    await step('history', deadline, () => app.get(Archiver).stop());
    await step('audit', deadline, () => app.get(AuditArchiver).stop());
  }
  if (config.traces !== undefined)
    await step('traces', deadline, () => app.get<Tracing>(TRACING).stop());
  await step('process record', deadline, () => app.get(ProcessRegistry).stop());
  await step('closing', deadline, () => app.close());
  if (failures.length > 0) throw new AggregateError(failures, 'draining failed');
  logger.log('drained');
}

function tellsWebhooks(config: AppConfig): boolean {
  return config.hasRole('history') && config.webhooks !== undefined;
}

async function hasSuccessor(app: NestExpressApplication): Promise<boolean> {
  const registry = app.get(ProcessRegistry);
  try {
    const live = await registry.live();
    return live.some(
      ({ processId, roles }) => processId !== registry.processId && roles.includes('worker'),
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
