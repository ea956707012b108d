import { type DynamicModule, Module } from '@nestjs/common';
import { ChainModule } from '../platform/chain/chain.module.js';
import type { AppConfig } from '../platform/config/app-config.js';
import { HttpModule } from '../platform/http/http.module.js';
import { LedgerModule } from '../settlement/ledger/ledger.module.js';
import { AssetsModule } from './assets/assets.module.js';
import { FacilitatorRootController } from './facilitator.root.controller.js';
import { FacilitatorService } from './facilitator.service.js';
import { FacilitatorV1Controller } from './facilitator.v1.controller.js';
import { FacilitatorV2Controller } from './facilitator.v2.controller.js';
import { SettleModule } from './settle/settle.module.js';
import { SimulatedSettles } from './simulation/simulated-settles.js';
import { RedisSimulationStore } from './simulation/simulation-store.js';
import { SettlementLookUp } from './status/settlement-look-up.js';
import { SettlementWaits } from './status/settlement-waits.js';
import { SettlementsV2Controller } from './status/settlements.v2.controller.js';
import { StatusService } from './status/status.service.js';
import { SupportedService } from './supported.service.js';
import { VerificationModule } from './verify/verification.module.js';
import { WarmUp } from './warm-up/warm-up.js';
import { SettleErrorFilter, VerifyErrorFilter } from './x402-error.filter.js';

@Module({})
export class FacilitatorModule {
  static forRoot(config: AppConfig): DynamicModule {
    return {
      module: FacilitatorModule,
      imports: [
        HttpModule,
        ChainModule,
        LedgerModule,
        VerificationModule,
        SettleModule.forRoot(config),
        AssetsModule,
      ],
      controllers: [
        FacilitatorV1Controller,
        FacilitatorV2Controller,
        FacilitatorRootController,
        SettlementsV2Controller,
      ],
      providers: [
        FacilitatorService,
        SupportedService,
        RedisSimulationStore,
        SimulatedSettles,
        SettlementLookUp,
        VerifyErrorFilter,
        SettleErrorFilter,
        StatusService,
        SettlementWaits,
        WarmUp,
      ],
      exports: [FacilitatorService, StatusService],
    };
  }
}
