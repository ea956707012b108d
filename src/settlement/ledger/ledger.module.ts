import { Global, Module } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { AppConfig } from '../../platform/config/app-config.js';
import { LEDGER_REDIS } from '../../platform/redis/redis.module.js';
import { LedgerEpochs } from './epoch.js';
import { LaneBoard } from './queries/lane-board.js';
import { LanePauses } from './queries/lane-pauses.js';
import type { LaneStore } from './lane-store.js';
import { QueueBoard } from './queries/queue-board.js';
import { RedisLaneStore } from './redis-lane-store.js';
import { RedisSettlementStore } from './redis-settlement-store.js';
import type { SettlementStore } from './settlement-store.js';
import { StoryReader } from './queries/story.js';

/** {@link SettlementStore}. */
export const SETTLEMENT_STORE = Symbol('SETTLEMENT_STORE');
/** {@link LaneStore}. */
export const LANE_STORE = Symbol('LANE_STORE');

const chainIdsOf = ({ networks }: AppConfig): readonly number[] =>
  networks.map(({ chainId }) => chainId);

@Global()
@Module({
  providers: [
    {
      provide: LedgerEpochs,
      inject: [LEDGER_REDIS, AppConfig],
      useFactory: async (redis: Redis, config: AppConfig): Promise<LedgerEpochs> => {
        const epochs = new LedgerEpochs(redis);
        await epochs.start(chainIdsOf(config));
        return epochs;
      },
    },
    {
      provide: SETTLEMENT_STORE,
      inject: [LEDGER_REDIS, LedgerEpochs, AppConfig],
      useFactory: (redis: Redis, epochs: LedgerEpochs, config: AppConfig): SettlementStore =>
        new RedisSettlementStore(redis, epochs, config),
    },
    {
      provide: LANE_STORE,
      inject: [LEDGER_REDIS, LedgerEpochs, AppConfig],
      useFactory: (redis: Redis, epochs: LedgerEpochs, config: AppConfig): LaneStore =>
        new RedisLaneStore(redis, epochs, config),
    },
    {
      provide: LaneBoard,
      inject: [LEDGER_REDIS],
      useFactory: (redis: Redis) => new LaneBoard(redis),
    },
    {
      provide: LanePauses,
      inject: [LEDGER_REDIS, AppConfig],
      useFactory: (redis: Redis, config: AppConfig) => new LanePauses(redis, chainIdsOf(config)),
    },
    {
      provide: QueueBoard,
      inject: [LEDGER_REDIS],
      useFactory: (redis: Redis) => new QueueBoard(redis),
    },
    {
      provide: StoryReader,
      inject: [LEDGER_REDIS, LedgerEpochs],
      useFactory: (redis: Redis, epochs: LedgerEpochs) => new StoryReader(redis, epochs),
    },
  ],
  exports: [
    SETTLEMENT_STORE,
    LANE_STORE,
    LedgerEpochs,
    LaneBoard,
    LanePauses,
    QueueBoard,
    StoryReader,
  ],
})
export class LedgerModule {}
