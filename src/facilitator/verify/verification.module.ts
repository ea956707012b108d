import { Module } from '@nestjs/common';
import { PinoLogger } from 'nestjs-pino';
import { ChainRegistry } from '../../platform/chain/chain-registry.js';
import { AppConfig } from '../../platform/config/app-config.js';
import { approvalLimitsOf } from '../../platform/config/network-settings.js';
import { loadSignerRecovery } from '../../platform/crypto/recover-signer.js';
import { RecoveryThread } from '../../platform/crypto/recovery-thread.js';
import { LANE_QUERIES, SETTLEMENT_STORE } from '../../settlement/ledger/ledger.module.js';
import type { LaneQueries } from '../../settlement/ledger/queries/lane-queries.js';
import {
  SETTLEMENT_ARCHIVE,
  type SettlementArchive,
} from '../../settlement/ledger/settlement-archive.js';
import type { SettlementStore } from '../../settlement/ledger/settlement-store.js';
import { ArchivedPayments } from '../status/archived-payments.js';
import { UsedAuthorizationFinder } from '../status/used-authorization-finder.js';
import { LaneSenders } from './lane-senders.js';
import { PaymentVerifier } from './payment-verifier.js';
import { VerifyService } from './verify.service.js';

@Module({
  providers: [
    {
      provide: PaymentVerifier,
      inject: [ChainRegistry, AppConfig, PinoLogger, LANE_QUERIES],
      useFactory: (
        chains: ChainRegistry,
        config: AppConfig,
        logger: PinoLogger,
        laneQueries: LaneQueries,
      ) => {
        const { implementation, recoverSigner } = loadSignerRecovery();
        if (implementation === 'javascript') {
          logger.warn('native secp256k1 is missing: signatures are checked in JavaScript, slower');
        }
        return new PaymentVerifier(chains, {
          recoverSigner: config.hasRecoveryThread
            ? RecoveryThread.start(recoverSigner, () => {
                logger.error('the thread that recovers signers ended: the event loop does it now');
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
    {
      provide: VerifyService,
      inject: [PaymentVerifier, SETTLEMENT_STORE, SETTLEMENT_ARCHIVE, ChainRegistry],
      useFactory: (
        verifier: PaymentVerifier,
        store: SettlementStore,
        archive: SettlementArchive,
        chains: ChainRegistry,
      ) =>
        new VerifyService({
          verifier,
          store,
          chains,
          finder: new UsedAuthorizationFinder(),
          archived: new ArchivedPayments(archive, verifier),
        }),
    },
  ],
  exports: [PaymentVerifier, VerifyService],
})
export class VerificationModule {}
