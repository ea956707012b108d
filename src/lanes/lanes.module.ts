import { Module } from '@nestjs/common';
import { Redis } from 'ioredis';
import { PinoLogger } from 'nestjs-pino';
import { ChainRegistry } from '../chain/chain-registry.js';
import { AppConfig } from '../config/app-config.js';
import { LaneBoard } from '../ledger/lane-board.js';
import { LaneLedger } from '../ledger/lane-ledger.js';
import { LanePauses } from '../ledger/lane-pauses.js';
import { fanOut } from '../observability/fan-out.js';
import { ProcessRegistry } from '../processes/process-registry.js';
import { LEDGER_REDIS, SUBSCRIBER_REDIS } from '../redis/redis.module.js';
import { laneLog } from './lane-log.js';
import { LaneManager } from './lane-manager.js';
import { LaneObserver } from './lane-observer.js';

@Module({
  providers: [
    {
      provide: LaneManager,
      inject: [
        AppConfig,
        ChainRegistry,
        LaneLedger,
        LaneBoard,
        ProcessRegistry,
        LEDGER_REDIS,
        SUBSCRIBER_REDIS,
        PinoLogger,
        LaneObserver,
      ],
      useFactory: async (
        config: AppConfig,
        chains: ChainRegistry,
        ledger: LaneLedger,
        board: LaneBoard,
        processes: ProcessRegistry,
        redis: Redis,
        subscriber: Redis,
        logger: PinoLogger,
        observer: LaneObserver,
      ): Promise<LaneManager> => {
        const manager = new LaneManager({
          config,
          chains,
          ledger,
          board,
          processes,
          pauses: new LanePauses(redis),
          redis,
          subscriber,
          // Readers of BullMQ wait for jobs on their own connection, for as long as it takes.
          connectWorker: () => new Redis(config.redisUrl.reveal(), { maxRetriesPerRequest: null }),
          observer: fanOut(laneLog(logger), observer),
        });
        await manager.start();
        return manager;
      },
    },
  ],
  exports: [LaneManager],
})
export class LanesModule {}
