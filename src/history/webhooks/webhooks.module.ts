import { BullModule } from '@nestjs/bullmq';
import { type DynamicModule, Module } from '@nestjs/common';
import type { AppConfig } from '../../platform/config/app-config.js';
import { logged } from '../../platform/observability/logged.js';
import { LedgerModule } from '../../settlement/ledger/ledger.module.js';
import { ProcessesModule } from '../../settlement/ledger/processes.module.js';
import { HistoryTablesModule } from '../history-tables.module.js';
import { HistoryDatabase } from '../postgres/database.module.js';
import { Deliverer } from './deliverer.js';
import { DELIVERY_STORE } from './delivery-store.js';
import { LANE_LEVELS } from './lane-levels.js';
import { LaneWatch } from './lane-watch.js';
import { PostgresDeliveries } from './postgres-deliveries.js';
import { PostgresLaneLevels } from './postgres-lane-levels.js';
import { PostgresWebhooks } from './postgres-webhooks.js';
import { WebhookSecrets } from './signature.js';
import { WebhookFetch } from './webhook-fetch.js';
import { WebhookHealth } from './webhook-health.js';
import { WebhookLimiter, WebhookLimits } from './webhook-limits.js';
import { webhookLog } from './webhook-log.js';
import { LOGGED_WEBHOOKS, WebhookObserver } from './webhook-observer.js';
import { WEBHOOKS_QUEUE, WebhooksProcessor } from './webhooks.processor.js';
import { WebhooksV2Controller } from './webhooks.v2.controller.js';

const OF_DELIVERING = [LedgerModule, ProcessesModule, HistoryTablesModule];

const OF_API = [PostgresWebhooks, WebhookLimiter, WebhookLimits];

const OF_HISTORY = [
  WebhookFetch,
  WebhookHealth,
  logged(LOGGED_WEBHOOKS, WebhookObserver, webhookLog),
  { provide: DELIVERY_STORE, useClass: PostgresDeliveries },
  Deliverer,
  WebhooksProcessor,
  { provide: LANE_LEVELS, useClass: PostgresLaneLevels },
  LaneWatch,
];

/** Imported only if webhooks are on. The role api manages them, and the role history delivers. */
@Module({})
export class WebhooksModule {
  static forRoot(config: AppConfig): DynamicModule {
    const isApi = config.hasRole('api');
    const delivers = config.deliversWebhooks;
    return {
      module: WebhooksModule,
      imports: [
        HistoryDatabase.on('background'),
        ...(delivers ? [...OF_DELIVERING, BullModule.registerQueue(WEBHOOKS_QUEUE)] : []),
      ],
      controllers: isApi ? [WebhooksV2Controller] : [],
      providers: [WebhookSecrets, ...(isApi ? OF_API : []), ...(delivers ? OF_HISTORY : [])],
      exports: delivers ? [WebhookHealth] : [],
    };
  }
}
