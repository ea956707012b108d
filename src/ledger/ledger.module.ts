import { Global, Module } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { AppConfig } from '../config/app-config.js';
import { LEDGER_REDIS } from '../redis/redis.module.js';
import { LaneBoard } from './lane-board.js';
import { LaneLedger } from './lane-ledger.js';
import { QueueBoard } from './queue-board.js';
import { SettlementLedger } from './settlement-ledger.js';

@Global()
@Module({
  providers: [
    {
      provide: SettlementLedger,
      inject: [LEDGER_REDIS, AppConfig],
      useFactory: (redis: Redis, config: AppConfig) => new SettlementLedger(redis, config),
    },
    {
      provide: LaneLedger,
      inject: [LEDGER_REDIS, AppConfig],
      useFactory: (redis: Redis, config: AppConfig) => new LaneLedger(redis, config),
    },
    {
      provide: LaneBoard,
      inject: [LEDGER_REDIS],
      useFactory: (redis: Redis) => new LaneBoard(redis),
    },
    {
      provide: QueueBoard,
      inject: [LEDGER_REDIS],
      useFactory: (redis: Redis) => new QueueBoard(redis),
    },
  ],
  exports: [SettlementLedger, LaneLedger, LaneBoard, QueueBoard],
})
export class LedgerModule {}
