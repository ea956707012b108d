import { Module } from '@nestjs/common';
import { ChainModule } from '../platform/chain/chain.module.js';
import { AppConfig } from '../platform/config/app-config.js';
import type { WalletConfig } from '../platform/config/wallet-settings.js';
import { NewWallets, WalletLimiter } from './accounts/new-wallets.js';
import { RulesSeal } from './accounts/rules-seal.js';
import { WalletDirectory } from './accounts/wallet-directory.js';
import { WalletStore } from './accounts/wallet-store.js';
import { renewAnswer } from './asks/ask.js';
import { Journal } from './audit/journal.js';
import { RedisAnchor } from './audit/journal-anchor.js';
import { IssuedTokens } from './auth/issued-tokens.js';
import { WalletRestorer } from './budget/rebuild.js';
import { Reconciler } from './budget/reconciler.js';
import { SpendingStore } from './budget/spending-store.js';
import { PasskeyStore } from './passkeys/passkey-store.js';
import { renewIntent } from './pay/intent.js';
import { KeyRing } from './seal/key-ring.js';
import { RecordSeal } from './seal/record-seal.js';
import { Authorizer } from './signing/authorizer.js';
import { WalletKeysModule } from './wallet-keys.module.js';
import {
  type UpkeepFailed,
  WALLET_CLOCK,
  WALLET_SETTINGS,
  WALLET_UPKEEP_FAILED,
  type WalletClock,
} from './wallet-tokens.js';

/** Wallets, their rules and what is left of them; the journal that outlives Redis. */
@Module({
  imports: [ChainModule, WalletKeysModule],
  providers: [
    RedisAnchor,
    {
      provide: Journal,
      inject: [
        AppConfig,
        WALLET_SETTINGS,
        RedisAnchor,
        RecordSeal,
        WALLET_CLOCK,
        WALLET_UPKEEP_FAILED,
      ],
      useFactory: (
        { retentionSeconds }: AppConfig,
        { auditDir, sealSecret }: WalletConfig,
        anchor: RedisAnchor,
        seal: RecordSeal,
        now: WalletClock,
        onFailure: UpkeepFailed,
      ) =>
        new Journal({
          dir: auditDir,
          keys: new KeyRing(sealSecret, 'journal'),
          anchor,
          renewIntent: (address, id, record) => renewIntent(seal, address, id, record),
          renewAnswer: (id, isDenied, record) => renewAnswer(seal, id, isDenied, record),
          retentionSeconds,
          now,
          onFailure,
        }),
    },
    WalletLimiter,
    RulesSeal,
    WalletStore,
    IssuedTokens,
    PasskeyStore,
    WalletRestorer,
    NewWallets,
    WalletDirectory,
    SpendingStore,
    Reconciler,
    Authorizer,
  ],
  exports: [
    Journal,
    WalletStore,
    WalletDirectory,
    IssuedTokens,
    PasskeyStore,
    WalletRestorer,
    SpendingStore,
    Reconciler,
    Authorizer,
    NewWallets,
    WalletLimiter,
  ],
})
export class WalletBudgetModule {}
