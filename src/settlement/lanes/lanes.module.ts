import { Module } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { PinoLogger } from 'nestjs-pino';
import { ChainRegistry } from '../../platform/chain/chain-registry.js';
import { systemClock } from '../../platform/concurrency/clock.js';
import { AppConfig } from '../../platform/config/app-config.js';
import { provide } from '../../platform/nest/provide.js';
import { fanOut } from '../../platform/observability/fan-out.js';
import { ledgerTag } from '../../platform/redis/hash-slot.js';
import { SUBSCRIBER_REDIS } from '../../platform/redis/redis.module.js';
import { connectReader } from '../../platform/redis/redis-connection.js';
import type { LaneLedger } from '../ledger/lane-store.js';
import {
  LANE_ATTEMPTS,
  LANE_ENDINGS,
  LANE_LEASES,
  LANE_QUERIES,
  LANE_QUEUE,
  REFILL_STORE,
} from '../ledger/ledger.module.js';
import { ProcessRegistry } from '../ledger/process-registry.js';
import type { LaneQueries } from '../ledger/queries/lane-queries.js';
import { LaneStatuses } from '../ledger/queries/lane-statuses.js';
import type { RefillStore } from '../ledger/refill-store.js';
import { JobObserver } from '../queue/job-observer.js';
import { laneLog } from './lane-log.js';
import { LaneObserver } from './lane-observer.js';
import { LaneShutdown } from './lane-shutdown.js';
import { Lanes } from './lanes.js';

@Module({
  providers: [
    provide(
      Lanes,
      {
        config: AppConfig,
        chains: ChainRegistry,
        leases: LANE_LEASES,
        queue: LANE_QUEUE,
        attempts: LANE_ATTEMPTS,
        endings: LANE_ENDINGS,
        refills: REFILL_STORE,
        statuses: LaneStatuses,
        processes: ProcessRegistry,
        laneQueries: LANE_QUERIES,
        subscriber: SUBSCRIBER_REDIS,
        logger: PinoLogger,
        observer: LaneObserver,
        jobObserver: JobObserver,
      },
      startedLanes,
    ),
    LaneShutdown,
  ],
  exports: [Lanes],
})
export class LanesModule {}

interface Injected extends LaneLedger {
  readonly config: AppConfig;
  readonly chains: ChainRegistry;
  readonly refills: RefillStore;
  readonly statuses: LaneStatuses;
  readonly processes: ProcessRegistry;
  readonly laneQueries: LaneQueries;
  readonly subscriber: Redis;
  readonly logger: PinoLogger;
  readonly observer: LaneObserver;
  readonly jobObserver: JobObserver;
}

async function startedLanes({
  leases,
  queue,
  attempts,
  endings,
  logger,
  observer,
  config,
  ...shared
}: Injected): Promise<Lanes> {
  const lanes = new Lanes({
    ...shared,
    ledger: { leases, queue, attempts, endings },
    config,
    // Readers of BullMQ wait for jobs on their own connection, for as long as it takes.
    connectWorker: (chainId) => connectReader(config.redis.queue, ledgerTag(chainId)),
    observer: fanOut([laneLog(logger), observer], (method, error) => {
      logger.error({ method, err: error }, 'a lane event handler failed');
    }),
    clock: systemClock,
  });
  await lanes.start();
  return lanes;
}
