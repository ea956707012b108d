import { Module } from '@nestjs/common';
import { ChainModule } from '../platform/chain/chain.module.js';
import { NewWallets, WalletLimiter } from './accounts/new-wallets.js';
import { RulesSeal } from './accounts/rules-seal.js';
import { WalletDirectory } from './accounts/wallet-directory.js';
import { WalletStore } from './accounts/wallet-store.js';
import { Journal } from './audit/journal.js';
import { RedisAnchor } from './audit/journal-anchor.js';
import { IssuedTokens } from './auth/issued-tokens.js';
import { WalletRestorer } from './budget/rebuild.js';
import { Reconciler } from './budget/reconciler.js';
import { SpendingStore } from './budget/spending-store.js';
import { PasskeyStore } from './passkeys/passkey-store.js';
import { Authorizer } from './signing/authorizer.js';
import { WalletKeysModule } from './wallet-keys.module.js';

/** Wallets, their rules and budgets, and the journal that outlives Redis. */
@Module({
  imports: [ChainModule, WalletKeysModule],
  providers: [
    RedisAnchor,
    Journal,
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
