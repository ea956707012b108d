import { BullModule, getQueueToken } from '@nestjs/bullmq';
import { type DynamicModule, Module } from '@nestjs/common';
import type { Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import { PinoLogger } from 'nestjs-pino';
import { AppConfig } from '../platform/config/app-config.js';
import { ledgerTag } from '../platform/redis/hash-slot.js';
import type { LedgerConnections } from '../platform/redis/ledger-connections.js';
import { QUEUE_REDIS, SUBSCRIBER_REDIS } from '../platform/redis/redis.module.js';
import { queuePrefix } from '../platform/redis/redis-connection.js';
import { Admission } from './admission.js';
import { ProcessRegistry } from './ledger/process-registry.js';
import { SettlementEvents } from './ledger/settlement-events.js';
import { JobObserver } from './queue/job-observer.js';
import { type QueueLog, queueNameOf, SettlementQueue } from './queue/settlement.queue.js';
import type { SettlementJob } from './queue/settlement-job.js';

/** A {@link SettlementQueue} for each chain, by its id. */
export const SETTLEMENT_QUEUES = Symbol('SETTLEMENT_QUEUES');

/** What a process needs that takes settlements in: the queues, admission, and news of what became of them. */
@Module({})
export class SettlementModule {
  static forRoot({ networks }: AppConfig): DynamicModule {
    const chainIds = networks.map(({ chainId }) => chainId);
    return {
      module: SettlementModule,
      imports: [
        BullModule.registerQueueAsync(
          ...chainIds.map((chainId) => ({
            name: queueNameOf(chainId),
            inject: [QUEUE_REDIS, AppConfig],
            useFactory: (connections: LedgerConnections, { redis }: AppConfig) => ({
              connection: connections.of(chainId),
              ...queuePrefix(redis.queue, ledgerTag(chainId)),
            }),
          })),
        ),
      ],
      providers: [
        Admission,
        {
          provide: SETTLEMENT_QUEUES,
          inject: [
            PinoLogger,
            JobObserver,
            ...chainIds.map((chainId) => getQueueToken(queueNameOf(chainId))),
          ],
          useFactory: (
            logger: PinoLogger,
            observer: JobObserver,
            ...queues: Queue<SettlementJob>[]
          ) =>
            new Map(
              queues.map((queue, index) => {
                const chainId = chainIds[index] ?? 0;
                const jobs = new SettlementQueue(queue, queueLog(logger, chainId), observer);
                // BullMQ prints what nobody listens to, past the log and what it leaves out.
                queue.on('error', (error) => {
                  jobs.failed(error);
                });
                return [chainId, jobs] as const;
              }),
            ),
        },
        {
          provide: SettlementEvents,
          inject: [SUBSCRIBER_REDIS, ProcessRegistry],
          useFactory: async (subscriber: Redis, { processId }: ProcessRegistry) => {
            const news = new SettlementEvents(subscriber, processId);
            await news.start();
            return news;
          },
        },
      ],
      exports: [Admission, SETTLEMENT_QUEUES, SettlementEvents],
    };
  }
}

function queueLog(logger: PinoLogger, chainId: number): QueueLog {
  return {
    troubled: (error) => {
      logger.warn(
        { chainId, err: error },
        'the worker cannot take jobs from the queue; the sweep will pick settlements up',
      );
    },
    recovered: () => {
      logger.info({ chainId }, 'the worker takes jobs from the queue again');
    },
  };
}
