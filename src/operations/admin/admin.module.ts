import { Module } from '@nestjs/common';
import { ModerationModule } from '../../discovery/operators/moderation.module.js';
import { StatusService } from '../../facilitator/status/status.service.js';
import { OperatorHistoryModule } from '../../history/operators/operator-history.module.js';
import { SettlementPasts } from '../../history/operators/settlement-past.js';
import { ChainRegistry } from '../../platform/chain/chain-registry.js';
import { AppConfig } from '../../platform/config/app-config.js';
import { provide } from '../../platform/nest/provide.js';
import type { LabelStore } from '../../settlement/ledger/label-store.js';
import {
  LABEL_STORE,
  LANE_QUERIES,
  SETTLEMENT_QUERIES,
} from '../../settlement/ledger/ledger.module.js';
import { ProcessRegistry } from '../../settlement/ledger/process-registry.js';
import { LaneSwitches } from '../../settlement/ledger/queries/lane-switches.js';
import type { SettlementQueries } from '../../settlement/ledger/queries/settlement-queries.js';
import { ApiKeyStore } from '../access/api-key-store.js';
import { AdminController } from './admin.controller.js';
import { type AdminParts, AdminService, type HistoryFacts } from './admin.service.js';
import { AdminCatalogueController } from './admin-catalogue.controller.js';
import { AdminHistoryController } from './admin-history.controller.js';
import { AdminPageController } from './admin-page.controller.js';
import { type LifeParts, SettlementLives } from './settlement-life.js';

/** Imported only where API keys are in use: without them the page is not there rather than open. */
@Module({
  imports: [OperatorHistoryModule, ModerationModule],
  controllers: [
    AdminPageController,
    AdminHistoryController,
    AdminCatalogueController,
    AdminController,
  ],
  providers: [
    provide(
      AdminService,
      {
        chains: ChainRegistry,
        laneQueries: LANE_QUERIES,
        switches: LaneSwitches,
        settlementQueries: SETTLEMENT_QUERIES,
        processes: ProcessRegistry,
        status: StatusService,
        apiKeys: ApiKeyStore,
        config: AppConfig,
      },
      ({ config, ...parts }: Omit<AdminParts, 'history'> & { readonly config: AppConfig }) =>
        new AdminService({ ...parts, history: historyFactsOf(config) }),
    ),
    provide(
      SettlementLives,
      {
        chains: ChainRegistry,
        settlementQueries: SETTLEMENT_QUERIES,
        lanes: AdminService,
        pasts: SettlementPasts,
      },
      (parts: LifeParts) => new SettlementLives(parts),
    ),
    {
      provide: StatusService,
      inject: [SETTLEMENT_QUERIES, ChainRegistry, LABEL_STORE],
      useFactory: (settlements: SettlementQueries, chains: ChainRegistry, labels: LabelStore) =>
        new StatusService(settlements, chains, labels),
    },
  ],
})
export class AdminModule {}

/** As this process is set: those that archive and reconcile have the same settings, or say so in their health. */
function historyFactsOf({ history, webhooks }: AppConfig): HistoryFacts {
  return {
    enabled: history !== undefined,
    webhooks: webhooks !== undefined,
    reconciles: history?.reconcilesAt !== undefined,
    catalogue: history?.catalogue !== undefined,
  };
}
