import { Module } from '@nestjs/common';
import { ChainModule } from '../../platform/chain/chain.module.js';
import { ChainRegistry } from '../../platform/chain/chain-registry.js';
import { AppConfig } from '../../platform/config/app-config.js';
import { approvalLimitsOf } from '../../platform/config/network-settings.js';
import type { RecoverSignerAsync } from '../../protocol/schemes/verdict.js';
import { LedgerModule } from '../../settlement/ledger/ledger.module.js';
import { LaneQueries } from '../../settlement/ledger/queries/lane-queries.js';
import { ArchivedPayments } from '../status/archived-payments.js';
import { UsedAuthorizationFinder } from '../status/used-authorization-finder.js';
import { LaneSenders } from './lane-senders.js';
import { PaymentVerifier } from './payment-verifier.js';
import { RECOVER_SIGNER, SIGNER_RECOVERY } from './signer-recovery.js';
import { VerifyService } from './verify.service.js';

@Module({
  imports: [ChainModule, LedgerModule],
  providers: [
    SIGNER_RECOVERY,
    {
      provide: PaymentVerifier,
      inject: [ChainRegistry, AppConfig, LaneQueries, RECOVER_SIGNER],
      useFactory: (
        chains: ChainRegistry,
        config: AppConfig,
        laneQueries: LaneQueries,
        recoverSigner: RecoverSignerAsync,
      ) =>
        new PaymentVerifier(chains, {
          recoverSigner,
          maxGas: config.maxGasPerSettle,
          walletFactories: config.walletFactories,
          admission: config.admission,
          senders: new LaneSenders(laneQueries),
          approvalLimits: approvalLimitsOf(config),
          builderCode: config.builderCode,
        }),
    },
    ArchivedPayments,
    UsedAuthorizationFinder,
    VerifyService,
  ],
  exports: [
    RECOVER_SIGNER,
    PaymentVerifier,
    ArchivedPayments,
    UsedAuthorizationFinder,
    VerifyService,
  ],
})
export class VerificationModule {}
