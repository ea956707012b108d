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
import { queueNameOf, settlementQueueFor, SettlementQueues } from './queue/settlement.queue.js';

/** The parts of a process that accepts settlements: the queues, admission, and the events of settlements. */
@Module({})
export class SettlementModule {
  static forRoot({ networks }: AppConfig): DynamicModule {
    const chainIds = networks.map(({ chainId }) => chainId);
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
        SettlementQueues,
        ...chainIds.map(settlementQueueFor),
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
      exports: [Admission, SettlementQueues, SettlementEvents],
    };
  }
}
