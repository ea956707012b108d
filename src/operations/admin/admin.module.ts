import { Module } from '@nestjs/common';
import { StatusService } from '../../facilitator/status/status.service.js';
import { ChainRegistry } from '../../platform/chain/chain-registry.js';
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
import { type AdminParts, AdminService } from './admin.service.js';
import { AdminPageController } from './admin-page.controller.js';

/** Imported only where API keys are in use: without them the page is not there rather than open. */
@Module({
  controllers: [AdminPageController, AdminController],
  providers: [
    provide(
      AdminService,
      {
        ...{ chains: ChainRegistry, laneQueries: LANE_QUERIES, switches: LaneSwitches },
        ...{ settlementQueries: SETTLEMENT_QUERIES, processes: ProcessRegistry },
        ...{ status: StatusService, apiKeys: ApiKeyStore },
      },
      (parts: AdminParts) => new AdminService(parts),
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
