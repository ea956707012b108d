import { Module } from '@nestjs/common';
import { ChainModule } from '../../platform/chain/chain.module.js';
import { LedgerModule } from '../../settlement/ledger/ledger.module.js';
import { ArchivedPayments } from '../status/archived-payments.js';
import { UsedAuthorizationFinder } from '../status/used-authorization-finder.js';
import { LaneSenders } from './lane-senders.js';
import { PaymentVerifier } from './payment-verifier.js';
import { SignerRecovery } from './signer-recovery.js';
import { VerifyService } from './verify.service.js';

@Module({
  imports: [ChainModule, LedgerModule],
  providers: [
    SignerRecovery,
    LaneSenders,
    PaymentVerifier,
    ArchivedPayments,
    UsedAuthorizationFinder,
    VerifyService,
  ],
  exports: [
    SignerRecovery,
    PaymentVerifier,
    ArchivedPayments,
    UsedAuthorizationFinder,
    VerifyService,
  ],
})
export class VerificationModule {}
