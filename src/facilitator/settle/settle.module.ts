import { BullModule, getQueueToken } from '@nestjs/bullmq';
import { type DynamicModule, Module } from '@nestjs/common';
import type { Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import { PinoLogger } from 'nestjs-pino';
import { ChainRegistry } from '../../platform/chain/chain-registry.js';
import { AppConfig } from '../../platform/config/app-config.js';
import { provide } from '../../platform/nest/provide.js';
import { ledgerTag } from '../../platform/redis/hash-slot.js';
import type { LedgerConnections } from '../../platform/redis/ledger-connections.js';
import { QUEUE_REDIS, SUBSCRIBER_REDIS } from '../../platform/redis/redis.module.js';
import { queuePrefix } from '../../platform/redis/redis-connection.js';
import { whileStarting } from '../../platform/redis/while-starting.js';
import { Admission } from '../../settlement/admission.js';
import type { LabelStore } from '../../settlement/ledger/label-store.js';
import {
  LABEL_STORE,
  LANE_QUERIES,
  SETTLEMENT_STORE,
} from '../../settlement/ledger/ledger.module.js';
import { ProcessRegistry } from '../../settlement/ledger/process-registry.js';
import type { LaneQueries } from '../../settlement/ledger/queries/lane-queries.js';
import {
  SETTLEMENT_ARCHIVE,
  type SettlementArchive,
} from '../../settlement/ledger/settlement-archive.js';
import { SettlementEvents } from '../../settlement/ledger/settlement-events.js';
import type { SettlementStore } from '../../settlement/ledger/settlement-store.js';
import { JobObserver } from '../../settlement/queue/job-observer.js';
import {
  type QueueLog,
  queueNameOf,
  SettlementQueue,
} from '../../settlement/queue/settlement.queue.js';
import type { SettlementJob } from '../../settlement/queue/settlement-job.js';
import { ArchivedPayments } from '../status/archived-payments.js';
import { UsedAuthorizationFinder } from '../status/used-authorization-finder.js';
import { PaymentVerifier } from '../verify/payment-verifier.js';
import { VerificationModule } from '../verify/verification.module.js';
import { LostClaims } from './lost-claims.js';
import { SettleService } from './settle.service.js';

const SETTLEMENT_QUEUES = Symbol('SETTLEMENT_QUEUES');

@Module({})
export class SettlementModule {
  static forRoot({ networks }: AppConfig): DynamicModule {
    const chainIds = networks.map(({ chainId }) => chainId);
    return {
      module: SettlementModule,
      imports: [
        VerificationModule,
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
        provide(
          SettleService,
          {
            chains: ChainRegistry,
            verifier: PaymentVerifier,
            store: SETTLEMENT_STORE,
            labels: LABEL_STORE,
            queues: SETTLEMENT_QUEUES,
            news: SettlementEvents,
            laneQueries: LANE_QUERIES,
            archive: SETTLEMENT_ARCHIVE,
            processes: ProcessRegistry,
            config: AppConfig,
            logger: PinoLogger,
          },
          settleService,
        ),
      ],
      exports: [SettleService, SettlementEvents],
    };
  }
}

interface Injected {
  readonly chains: ChainRegistry;
  readonly verifier: PaymentVerifier;
  readonly store: SettlementStore;
  readonly labels: LabelStore;
  readonly queues: ReadonlyMap<number, SettlementQueue>;
  readonly news: SettlementEvents;
  readonly laneQueries: LaneQueries;
  readonly archive: SettlementArchive;
  readonly processes: ProcessRegistry;
  readonly config: AppConfig;
  readonly logger: PinoLogger;
}

function queueLog(logger: PinoLogger, chainId: number): QueueLog {
  return {
    troubled: (error) => {
      logger.warn({ chainId, err: error }, 'jobs are not taken: settlements wait for the sweep');
    },
    recovered: () => {
      logger.info({ chainId }, 'jobs are taken again');
    },
  };
}

async function settleService({
  processes,
  config,
  logger,
  archive,
  ...shared
}: Injected): Promise<SettleService> {
  const { store, laneQueries } = shared;
  const service = new SettleService(
    {
      ...shared,
      admission: new Admission(laneQueries, config.headMaxAgeMs),
      finder: new UsedAuthorizationFinder(),
      archived: new ArchivedPayments(archive, shared.verifier),
      lostClaims: new LostClaims(store, laneQueries),
      onTrouble: (what, error) => {
        logger.warn({ what, err: error }, 'a step beside a request failed');
      },
    },
    { processId: processes.processId, waitMs: config.settleWaitMs },
  );
  const chainIds = config.networks.map(({ chainId }) => chainId);
  await whileStarting('REDIS_URL', () => service.start(chainIds));
  return service;
}
