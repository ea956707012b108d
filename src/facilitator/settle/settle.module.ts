import { BullModule, getQueueToken } from '@nestjs/bullmq';
import { type DynamicModule, Module } from '@nestjs/common';
import type { Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import { PinoLogger } from 'nestjs-pino';
import { ChainRegistry } from '../../platform/chain/chain-registry.js';
import { AppConfig } from '../../platform/config/app-config.js';
import { LANE_QUERIES, SETTLEMENT_STORE } from '../../settlement/ledger/ledger.module.js';
import type { SettlementStore } from '../../settlement/ledger/settlement-store.js';
import { ProcessRegistry } from '../../settlement/ledger/process-registry.js';
import { SUBSCRIBER_REDIS } from '../../platform/redis/redis.module.js';
import { PaymentVerifier } from '../verify/payment-verifier.js';
import { VerificationModule } from '../verify/verification.module.js';
import { Admission } from '../../settlement/admission.js';
import type { LaneQueries } from '../../settlement/ledger/queries/lane-queries.js';
import { LostClaims } from './lost-claims.js';
import { SettleService } from './settle.service.js';
import { SettlementEvents } from '../../settlement/ledger/settlement-events.js';
import {
  queueNameOf,
  type SettlementJob,
  SettlementQueue,
} from '../../settlement/queue/settlement.queue.js';
import { UsedAuthorizationFinder } from '../status/used-authorization-finder.js';

const SETTLEMENT_QUEUES = Symbol('SETTLEMENT_QUEUES');

@Module({})
export class SettlementModule {
  static forRoot({ networks }: AppConfig): DynamicModule {
    const chainIds = networks.map(({ chainId }) => chainId);
    return {
      module: SettlementModule,
      imports: [
        VerificationModule,
        BullModule.registerQueue(...chainIds.map((chainId) => ({ name: queueNameOf(chainId) }))),
      ],
      providers: [
        {
          provide: SETTLEMENT_QUEUES,
          inject: chainIds.map((chainId) => getQueueToken(queueNameOf(chainId))),
          useFactory: (...queues: Queue<SettlementJob>[]) =>
            new Map(
              queues.map((queue, index) => [chainIds[index] ?? 0, new SettlementQueue(queue)]),
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
        {
          provide: SettleService,
          inject: [
            ChainRegistry,
            PaymentVerifier,
            SETTLEMENT_STORE,
            SETTLEMENT_QUEUES,
            SettlementEvents,
            LANE_QUERIES,
            ProcessRegistry,
            AppConfig,
            PinoLogger,
          ],
          useFactory: (
            chains: ChainRegistry,
            verifier: PaymentVerifier,
            store: SettlementStore,
            queues: ReadonlyMap<number, SettlementQueue>,
            news: SettlementEvents,
            laneQueries: LaneQueries,
            { processId }: ProcessRegistry,
            config: AppConfig,
            logger: PinoLogger,
          ) =>
            new SettleService(
              {
                ...{ chains, verifier, store, queues, news, laneQueries },
                admission: new Admission(laneQueries, config.headMaxAgeMs),
                finder: new UsedAuthorizationFinder(),
                lostClaims: new LostClaims(store, laneQueries),
                onTrouble: (what, error) => {
                  logger.warn({ what, err: error }, 'a step beside a request failed');
                },
              },
              { processId, waitMs: config.settleWaitMs },
            ),
        },
      ],
      exports: [SettleService],
    };
  }
}
