import { Module } from '@nestjs/common';
import { ModerationModule } from '../../discovery/operators/moderation.module.js';
import { StatusService } from '../../facilitator/status/status.service.js';
import { OperatorHistoryModule } from '../../history/operators/operator-history.module.js';
import { ChainRegistry } from '../../platform/chain/chain-registry.js';
import type { LabelStore } from '../../settlement/ledger/label-store.js';
import { LABEL_STORE, SETTLEMENT_QUERIES } from '../../settlement/ledger/ledger.module.js';
import type { SettlementQueries } from '../../settlement/ledger/queries/settlement-queries.js';
import { ApiKeysModule } from '../access/api-keys.module.js';
import { SettlingHealthModule } from '../health/settling-health.module.js';
import { AdminController } from './admin.controller.js';
import { AdminService } from './admin.service.js';
import { AdminCatalogueController } from './admin-catalogue.controller.js';
import { AdminHistoryController } from './admin-history.controller.js';
import { AdminPageController } from './admin-page.controller.js';
import { SettlementLives } from './settlement-life.js';

/** Imported only where API keys are in use: without them the page is not there rather than open. */
@Module({
  imports: [ApiKeysModule, OperatorHistoryModule, ModerationModule, SettlingHealthModule],
  controllers: [
    AdminPageController,
    AdminHistoryController,
    AdminCatalogueController,
    AdminController,
  ],
  providers: [
    AdminService,
    SettlementLives,
    {
      provide: StatusService,
      inject: [SETTLEMENT_QUERIES, ChainRegistry, LABEL_STORE],
      useFactory: (settlements: SettlementQueries, chains: ChainRegistry, labels: LabelStore) =>
        new StatusService(settlements, chains, labels),
    },
  ],
})
export class AdminModule {}
