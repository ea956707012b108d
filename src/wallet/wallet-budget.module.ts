import { Module } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { ChainRegistry } from '../platform/chain/chain-registry.js';
import { AppConfig } from '../platform/config/app-config.js';
import type { WalletConfig } from '../platform/config/wallet-settings.js';
import { provide } from '../platform/nest/provide.js';
import { RateLimiter } from '../platform/rate-limit/rate-limiter.js';
import { WALLET_REDIS } from '../platform/redis/redis.module.js';
import { NewWallets } from './accounts/new-wallets.js';
import { RulesSeal } from './accounts/rules-seal.js';
import { WalletDirectory } from './accounts/wallet-directory.js';
import { WalletStore } from './accounts/wallet-store.js';
import { renewAnswer } from './asks/ask.js';
import { Journal } from './audit/journal.js';
import { RedisWitness } from './audit/journal-witness.js';
import { IssuedTokens } from './auth/issued-tokens.js';
import { WalletRestorer } from './budget/rebuild.js';
import { Reconciler, type ReconcilerParts } from './budget/reconciler.js';
import { SpendingStore } from './budget/spending-store.js';
import { PasskeyBook } from './passkeys/passkey-book.js';
import { renewIntent } from './pay/intent.js';
import type { WalletProvider } from './provider/wallet-provider.js';
import { RedisLock } from './redis-lock.js';
import { firstPolicy } from './rules/policy.js';
import { KeyRing } from './seal/key-ring.js';
import { RecordSeal } from './seal/record-seal.js';
import { Authorizer } from './signing/authorizer.js';
import { WalletKeysModule } from './wallet-keys.module.js';
import { WalletObserver } from './wallet-observer.js';
import {
  type UpkeepFailed,
  WALLET_CLOCK,
  WALLET_PROVIDER,
  WALLET_SETTINGS,
  WALLET_UPKEEP_FAILED,
  type WalletClock,
} from './wallet-tokens.js';

interface JournalSurroundings {
  readonly config: AppConfig;
  readonly wallet: WalletConfig;
  readonly redis: Redis;
  readonly seal: RecordSeal;
  readonly now: WalletClock;
  readonly onFailure: UpkeepFailed;
}

function createJournal(around: JournalSurroundings): Journal {
  const { wallet, redis, seal, now, onFailure } = around;
  return new Journal({
    dir: wallet.auditDir,
    keys: new KeyRing(wallet.sealSecret, 'journal'),
    witness: new RedisWitness(redis, seal),
    renewIntent: (address, id, record) => renewIntent(seal, address, id, record),
    renewAnswer: (id, isDenied, record) => renewAnswer(seal, id, isDenied, record),
    retentionSeconds: around.config.retentionSeconds,
    now,
    onFailure,
  });
}

interface DirectorySurroundings {
  readonly wallet: WalletConfig;
  readonly provider: WalletProvider;
  readonly journal: Journal;
  readonly restorer: WalletRestorer;
  readonly book: WalletStore;
  readonly locks: RedisLock;
  readonly newWallets: NewWallets;
  readonly now: WalletClock;
}

interface RestorerSurroundings {
  readonly config: AppConfig;
  readonly redis: Redis;
  readonly journal: Journal;
  readonly rules: RulesSeal;
  readonly tokens: IssuedTokens;
  readonly passkeys: PasskeyBook;
  readonly now: WalletClock;
}

/** Wallets, their rules and what is left of them; the journal that outlives Redis. */
@Module({
  imports: [WalletKeysModule],
  providers: [
    provide(
      Journal,
      {
        config: AppConfig,
        wallet: WALLET_SETTINGS,
        redis: WALLET_REDIS,
        seal: RecordSeal,
        now: WALLET_CLOCK,
        onFailure: WALLET_UPKEEP_FAILED,
      },
      createJournal,
    ),
    {
      provide: RulesSeal,
      inject: [RecordSeal],
      useFactory: (seal: RecordSeal) => new RulesSeal(seal),
    },
    {
      provide: WalletStore,
      inject: [WALLET_REDIS, RulesSeal],
      useFactory: (redis: Redis, rules: RulesSeal) => new WalletStore(redis, rules),
    },
    {
      provide: IssuedTokens,
      inject: [WALLET_REDIS, RecordSeal, WALLET_CLOCK],
      useFactory: (redis: Redis, seal: RecordSeal, now: WalletClock) =>
        new IssuedTokens(redis, seal, now),
    },
    {
      provide: PasskeyBook,
      inject: [WALLET_REDIS, RecordSeal],
      useFactory: (redis: Redis, seal: RecordSeal) => new PasskeyBook(redis, seal),
    },
    provide(
      WalletRestorer,
      {
        config: AppConfig,
        redis: WALLET_REDIS,
        journal: Journal,
        rules: RulesSeal,
        tokens: IssuedTokens,
        passkeys: PasskeyBook,
        now: WALLET_CLOCK,
      },
      ({ config, ...parts }: RestorerSurroundings) =>
        new WalletRestorer({ ...parts, retentionSeconds: config.retentionSeconds }),
    ),
    {
      provide: NewWallets,
      inject: [WALLET_REDIS, WALLET_SETTINGS],
      useFactory: (redis: Redis, { requestsPerMinute }: WalletConfig) =>
        new NewWallets(new RateLimiter(redis, 'wallet'), requestsPerMinute),
    },
    provide(
      WalletDirectory,
      {
        wallet: WALLET_SETTINGS,
        provider: WALLET_PROVIDER,
        journal: Journal,
        restorer: WalletRestorer,
        book: WalletStore,
        locks: RedisLock,
        now: WALLET_CLOCK,
        newWallets: NewWallets,
      },
      ({ wallet, ...parts }: DirectorySurroundings) =>
        new WalletDirectory({ ...parts, firstPolicy: firstPolicy(wallet) }),
    ),
    {
      provide: SpendingStore,
      inject: [WALLET_REDIS],
      useFactory: (redis: Redis) => new SpendingStore(redis),
    },
    provide(
      Reconciler,
      {
        redis: WALLET_REDIS,
        store: SpendingStore,
        chains: ChainRegistry,
        journal: Journal,
        observer: WalletObserver,
        now: WALLET_CLOCK,
        onFailure: WALLET_UPKEEP_FAILED,
      },
      (parts: ReconcilerParts) => new Reconciler(parts),
    ),
    {
      provide: Authorizer,
      inject: [WalletDirectory, SpendingStore, Journal, WalletObserver, WALLET_CLOCK],
      useFactory: (
        directory: WalletDirectory,
        store: SpendingStore,
        journal: Journal,
        observer: WalletObserver,
        now: WalletClock,
      ) => new Authorizer(directory, store, journal, observer, now),
    },
  ],
  exports: [
    Journal,
    WalletStore,
    WalletDirectory,
    IssuedTokens,
    PasskeyBook,
    WalletRestorer,
    SpendingStore,
    Reconciler,
    Authorizer,
    NewWallets,
  ],
})
export class WalletBudgetModule {}
