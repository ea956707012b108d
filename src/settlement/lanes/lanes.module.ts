import { Module } from '@nestjs/common';
import { Redis } from 'ioredis';
import { PinoLogger } from 'nestjs-pino';
import { ChainRegistry } from '../../platform/chain/chain-registry.js';
import { systemClock } from '../../platform/concurrency/clock.js';
import { AppConfig } from '../../platform/config/app-config.js';
import { LaneBoard } from '../ledger/queries/lane-board.js';
import { LanePauses } from '../ledger/queries/lane-pauses.js';

import { LANE_STORE } from '../ledger/ledger.module.js';
import type { LaneStore } from '../ledger/lane-store.js';
import { fanOut } from '../../platform/observability/fan-out.js';
import { ProcessRegistry } from '../ledger/process-registry.js';
import { SUBSCRIBER_REDIS } from '../../platform/redis/redis.module.js';
import { laneLog } from './lane-log.js';
import { LaneObserver } from './lane-observer.js';
import { Lanes } from './lanes.js';

@Module({
  providers: [
    {
      provide: Lanes,
      inject: [
        AppConfig,
        ChainRegistry,
        LANE_STORE,
        LaneBoard,
        ProcessRegistry,
        LanePauses,
        SUBSCRIBER_REDIS,
        PinoLogger,
        LaneObserver,
      ],
      useFactory: async (
        config: AppConfig,
        chains: ChainRegistry,
        store: LaneStore,
        board: LaneBoard,
        processes: ProcessRegistry,
        pauses: LanePauses,
        subscriber: Redis,
        logger: PinoLogger,
        observer: LaneObserver,
      ): Promise<Lanes> => {
        const lanes = new Lanes({
          config,
          chains,
          store,
          board,
          processes,
          pauses,
          subscriber,
          // Readers of BullMQ wait for jobs on their own connection, for as long as it takes.
          connectWorker: () =>
            new Redis(config.redis.ledger.reveal(), { maxRetriesPerRequest: null }),
          observer: fanOut([laneLog(logger), observer], (method, error) => {
            logger.error({ method, err: error }, 'an observer of lanes failed');
          }),
          clock: systemClock,
        });
        await lanes.start();
        return lanes;
      },
    },
  ],
  exports: [Lanes],
})
export class LanesModule {}
