import { type DynamicModule, Module } from '@nestjs/common';
import { ChainModule } from '../../platform/chain/chain.module.js';
import type { AppConfig } from '../../platform/config/app-config.js';
import { LedgerModule } from '../../settlement/ledger/ledger.module.js';
import { ProcessesModule } from '../../settlement/ledger/processes.module.js';
import { SettlementModule } from '../../settlement/settlement.module.js';
import { VerificationModule } from '../verify/verification.module.js';
import { AcknowledgedAnswers } from './acknowledged-answers.js';
import { ActionDetailsReader } from './action-details.js';
import { Claiming } from './claiming.js';
import { DeferredSteps } from './deferred-steps.js';
import { LostClaims } from './lost-claims.js';
import { PastAnswers } from './past-answers.js';
import { SettleService } from './settle.service.js';

@Module({})
export class SettleModule {
  static forRoot(config: AppConfig): DynamicModule {
    const settlement = SettlementModule.forRoot(config);
    return {
      module: SettleModule,
      imports: [ChainModule, LedgerModule, ProcessesModule, VerificationModule, settlement],
      providers: [
        DeferredSteps,
        AcknowledgedAnswers,
        LostClaims,
        PastAnswers,
        Claiming,
        ActionDetailsReader,
        SettleService,
      ],
      exports: [SettleService, settlement],
    };
  }
}
