import { BullModule } from '@nestjs/bullmq';
import { type DynamicModule, Module } from '@nestjs/common';
import type { Redis } from 'ioredis';
import type { AppConfig } from '../platform/config/app-config.js';
import { ledgerTag } from '../platform/redis/hash-slot.js';
import { SUBSCRIBER_REDIS } from '../platform/redis/redis.module.js';
import { Admission } from './admission.js';
import { LedgerModule } from './ledger/ledger.module.js';
import { ProcessRegistry } from './ledger/process-registry.js';
import { ProcessesModule } from './ledger/processes.module.js';
import { SettlementEvents } from './ledger/settlement-events.js';
import { queueNameOf, type SettlementQueue, settlementQueueFor } from './queue/settlement.queue.js';

/** A {@link SettlementQueue} for each chain, by its id. */
export const SETTLEMENT_QUEUES = Symbol('SETTLEMENT_QUEUES');

/** The parts of a process that accepts settlements: the queues, admission, and the events of settlements. */
@Module({})
export class SettlementModule {
  static forRoot({ networks }: AppConfig): DynamicModule {
    const chainIds = networks.map(({ chainId }) => chainId);
    const queues = chainIds.map(settlementQueueFor);
    return {
      module: SettlementModule,
      imports: [
        LedgerModule,
        ProcessesModule,
        BullModule.registerQueue(
          ...chainIds.map((chainId) => ({
            name: queueNameOf(chainId),
            configKey: ledgerTag(chainId),
          })),
        ),
      ],
      providers: [
        Admission,
        ...queues,
        {
          provide: SETTLEMENT_QUEUES,
          inject: queues,
          useFactory: (...made: readonly SettlementQueue[]) =>
            new Map(made.map((queue, index) => [chainIds[index], queue])),
        },
        {
          provide: SettlementEvents,
          inject: [SUBSCRIBER_REDIS, ProcessRegistry],
          useFactory: async (subscriber: Redis, { processId }: ProcessRegistry) => {
            const events = new SettlementEvents(subscriber, processId);
            await events.start();
            return events;
          },
        },
      ],
      exports: [Admission, SETTLEMENT_QUEUES, SettlementEvents],
    };
  }
}
