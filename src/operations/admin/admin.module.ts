import { Module } from '@nestjs/common';
import { ChainRegistry } from '../../platform/chain/chain-registry.js';
import { SETTLEMENT_QUERIES } from '../../settlement/ledger/ledger.module.js';
import type { SettlementQueries } from '../../settlement/ledger/queries/settlement-queries.js';
import { StatusService } from '../../facilitator/status/status.service.js';
import { AdminController } from './admin.controller.js';
import { AdminPageController } from './admin-page.controller.js';
import { AdminService } from './admin.service.js';

/** Imported only where API keys are in use: without them the page is not there rather than open. */
@Module({
  controllers: [AdminPageController, AdminController],
  providers: [
    AdminService,
    {
      provide: StatusService,
      inject: [SETTLEMENT_QUERIES, ChainRegistry],
      useFactory: (settlements: SettlementQueries, chains: ChainRegistry) =>
        new StatusService(settlements, chains),
    },
  ],
})
export class AdminModule {}
