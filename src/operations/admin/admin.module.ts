import { type DynamicModule, Module } from '@nestjs/common';
import { ModerationModule } from '../../discovery/operators/moderation.module.js';
import { OperatorHistoryModule } from '../../history/operators/operator-history.module.js';
import { ChainModule } from '../../platform/chain/chain.module.js';
import type { AppConfig } from '../../platform/config/app-config.js';
import { LedgerModule } from '../../settlement/ledger/ledger.module.js';
import { ProcessesModule } from '../../settlement/ledger/processes.module.js';
import { ApiKeysModule } from '../access/api-keys.module.js';
import { SettlingHealthModule } from '../health/settling-health.module.js';
import { AdminController } from './admin.controller.js';
import { AdminService } from './admin.service.js';
import { AdminCatalogueController } from './admin-catalogue.controller.js';
import { AdminHistoryController } from './admin-history.controller.js';
import { AdminPageController } from './admin-page.controller.js';
import { SettlementLives } from './settlement-life.js';

/** Imported only where API keys are in use: without them the page does not exist, instead of being open. */
@Module({
  imports: [ChainModule, LedgerModule, ProcessesModule, ApiKeysModule, SettlingHealthModule],
  controllers: [
    AdminPageController,
    AdminHistoryController,
    AdminCatalogueController,
    AdminController,
  ],
  providers: [AdminService, SettlementLives],
})
export class AdminModule {
  static forRoot(config: AppConfig): DynamicModule {
    return {
      module: AdminModule,
      imports: [OperatorHistoryModule.forRoot(config), ModerationModule.forRoot(config)],
    };
  }
}
