import { type DynamicModule, Module } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { PinoLogger } from 'nestjs-pino';
import { ChainRegistry } from '../../platform/chain/chain-registry.js';
import { systemClock } from '../../platform/concurrency/clock.js';
import { AppConfig } from '../../platform/config/app-config.js';
import { provide } from '../../platform/nest/provide.js';
import { fanOut } from '../../platform/observability/fan-out.js';
import { SUBSCRIBER_REDIS } from '../../platform/redis/redis.module.js';
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
import { SettlementConsumers, settlementProcessorsFor } from '../queue/settlement.processor.js';
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
        consumers: SettlementConsumers,
      },
      startedLanes,
    ),
    LaneShutdown,
    SettlementConsumers,
  ],
  exports: [Lanes],
})
export class LanesModule {
  static forRoot({ networks }: AppConfig): DynamicModule {
    return {
      module: LanesModule,
      providers: networks.flatMap(({ chainId }) => [...settlementProcessorsFor(chainId)]),
    };
  }
}

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
  readonly consumers: SettlementConsumers;
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
    observer: fanOut([laneLog(logger), observer], (method, error) => {
      logger.error({ method, err: error }, 'a lane event handler failed');
    }),
    clock: systemClock,
  });
  await lanes.start();
  return lanes;
}
