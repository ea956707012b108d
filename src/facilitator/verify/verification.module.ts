import { Module } from '@nestjs/common';
import { PinoLogger } from 'nestjs-pino';
import { ChainModule } from '../../platform/chain/chain.module.js';
import { ChainRegistry } from '../../platform/chain/chain-registry.js';
import { AppConfig } from '../../platform/config/app-config.js';
import { approvalLimitsOf } from '../../platform/config/network-settings.js';
import { loadSignerRecovery } from '../../platform/crypto/recover-signer.js';
import { RecoveryThread } from '../../platform/crypto/recovery-thread.js';
import { LedgerModule } from '../../settlement/ledger/ledger.module.js';
import { LaneQueries } from '../../settlement/ledger/queries/lane-queries.js';
import { ArchivedPayments } from '../status/archived-payments.js';
import { UsedAuthorizationFinder } from '../status/used-authorization-finder.js';
import { LaneSenders } from './lane-senders.js';
import { PaymentVerifier } from './payment-verifier.js';
import { VerifyService } from './verify.service.js';

@Module({
  imports: [ChainModule, LedgerModule],
  providers: [
    {
      provide: PaymentVerifier,
      inject: [ChainRegistry, AppConfig, PinoLogger, LaneQueries],
      useFactory: (
        chains: ChainRegistry,
        config: AppConfig,
        logger: PinoLogger,
        laneQueries: LaneQueries,
      ) => {
        const { implementation, recoverSigner } = loadSignerRecovery();
        if (implementation === 'javascript') {
          logger.warn(
            'the native secp256k1 package is not installed: signatures are checked in JavaScript, which is slower',
          );
        }
        return new PaymentVerifier(chains, {
          recoverSigner: config.hasRecoveryThread
            ? RecoveryThread.start(recoverSigner, () => {
                logger.error(
                  'the signature worker thread ended; signatures are now checked on the main thread',
                );
              }).recoverSigner
            : (...signed) => Promise.resolve(recoverSigner(...signed)),
          maxGas: config.maxGasPerSettle,
          walletFactories: config.walletFactories,
          admission: config.admission,
          senders: new LaneSenders(laneQueries),
          approvalLimits: approvalLimitsOf(config),
          builderCode: config.builderCode,
        });
      },
    },
    ArchivedPayments,
    UsedAuthorizationFinder,
    VerifyService,
  ],
  exports: [PaymentVerifier, ArchivedPayments, UsedAuthorizationFinder, VerifyService],
})
export class VerificationModule {}
