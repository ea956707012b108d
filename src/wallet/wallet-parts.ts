import type { Redis } from 'ioredis';
import type { ChainRegistry } from '../chain/chain-registry.js';
import type { WalletConfig } from '../config/wallet-settings.js';
import type { RecoverSigner } from '../core/exact/verdict.js';
import { WalletBook } from './accounts/wallet-book.js';
import { WalletDirectory } from './accounts/wallet-directory.js';
import { Journal } from './audit/journal.js';
import { DeviceCodes } from './auth/device-codes.js';
import { RateLimit } from './auth/rate-limit.js';
import { Sessions } from './auth/sessions.js';
import { SignIn } from './auth/sign-in.js';
import { TokenMint } from './auth/token.js';
import { WalletRestorer } from './budget/rebuild.js';
import { Reconciler } from './budget/reconciler.js';
import { SpendingStore } from './budget/spending-store.js';
import { DeskService } from './desk/desk.service.js';
import { PolicyService } from './http/policy.service.js';
import { Balances } from './pay/balances.js';
import { IntentStore } from './pay/intent.js';
import { PayService } from './pay/pay.service.js';
import { SafeFetch } from './pay/safe-fetch.js';
import { Keystore } from './provider/local/keystore.js';
import { LocalProvider } from './provider/local/local-provider.js';
import { policyRules } from './provider/privy/privy-policy.js';
import { PrivyProvider } from './provider/privy/privy-provider.js';
import { TransactionSender } from './provider/transaction-sender.js';
import type { WalletProvider } from './provider/wallet-provider.js';
import { RedisLock } from './redis-lock.js';
import { firstPolicy } from './rules/policy.js';
import { Authorizer } from './signing/authorizer.js';
import { knownContracts } from './signing/known-contracts.js';
import { ReplyStore } from './signing/reply-store.js';
import { WalletRpc } from './signing/rpc.js';
import { WalletSigner } from './signing/signer.js';
import { WalletHealth } from './wallet-health.js';
import type { WalletObserver } from './wallet-observer.js';

/** What a wallet needs of the process it runs in. */
export interface WalletSurroundings {
  readonly redis: Redis;
  readonly chains: ChainRegistry;
  /** How long finished intents are kept. */
  readonly retentionSeconds: number;
  readonly recoverSigner: RecoverSigner;
  /** Unix seconds. */
  readonly now: () => number;
  readonly observer: WalletObserver;
  /** Told what the reconciler could not do. */
  readonly onFailure: (error: unknown) => void;
}

/** What is reached from outside, or has to be started and ended. */
export interface WalletParts {
  readonly provider: WalletProvider;
  readonly journal: Journal;
  readonly health: WalletHealth;
  readonly reconciler: Reconciler;
  readonly fetcher: SafeFetch;
  readonly directory: WalletDirectory;
  readonly codes: DeviceCodes;
  readonly signIn: SignIn;
  readonly sessions: Sessions;
  readonly rateLimit: RateLimit;
  readonly policies: PolicyService;
  readonly rpc: WalletRpc;
  readonly desks: DeskService;
}

/** Puts the wallet together; nothing is opened or started yet. */
export function assembleWallet(config: WalletConfig, around: WalletSurroundings): WalletParts {
  const { redis, chains, retentionSeconds, recoverSigner, observer, now } = around;
  const { assets, publicUrl, fetchTimeoutMs } = config;
  const locks = new RedisLock(redis);
  const provider = providerOf(config, around, new TransactionSender(chains, redis, locks));
  const journal = new Journal(config.auditDir);
  const book = new WalletBook(redis);
  const restorer = new WalletRestorer(redis, journal, retentionSeconds, now);
  const directory = new WalletDirectory(
    ...([provider, journal, restorer, book, locks, firstPolicy(config), now] as const),
  );
  const store = new SpendingStore(redis);
  const reconciler = new Reconciler(
    ...([redis, store, chains, journal, observer, now, around.onFailure] as const),
  );
  const known = knownContracts(assets, chains);
  const authorizer = new Authorizer(directory, store, journal, observer, now);
  const signer = new WalletSigner(provider, authorizer, known, recoverSigner, journal, now);
  const fetcher = new SafeFetch({ maxBytes: config.fetchMaxBytes, allow: config.fetchAllow });
  const balances = new Balances(chains);
  const payments = new PayService(
    ...([fetcher, known, authorizer, signer] as const),
    new IntentStore(redis, retentionSeconds),
    ...([store, reconciler, balances, locks, journal, observer] as const),
    { timeoutMs: fetchTimeoutMs, intentLifeSeconds: retentionSeconds },
    now,
  );
  const mint = new TokenMint(config.tokenSecret, publicUrl, now);
  const sessionRules = { agentTokenSeconds: config.tokenTtlSeconds, owners: config.owners };
  return {
    ...{ provider, journal, reconciler, fetcher, directory },
    health: new WalletHealth(journal, provider),
    codes: new DeviceCodes(redis),
    signIn: new SignIn(redis, recoverSigner, publicUrl, now),
    sessions: new Sessions(mint, directory, book, journal, redis, sessionRules, now),
    rateLimit: new RateLimit(redis, config.requestsPerMinute, now),
    policies: new PolicyService(directory, book, journal, locks, now),
    rpc: new WalletRpc(signer, new ReplyStore(redis, locks), chains),
    desks: new DeskService({
      ...{ provider, directory, store, payments, balances, fetcher, known, chains, assets },
      ...{ publicUrl, fetchTimeoutMs, now },
    }),
  };
}

function providerOf(
  { provider, assets, maxPerPayment }: WalletConfig,
  { chains, recoverSigner, observer }: WalletSurroundings,
  sender: TransactionSender,
): WalletProvider {
  if (provider.kind === 'local') {
    return new LocalProvider(new Keystore(provider.dir, provider.secret), sender);
  }
  const networks = chains.all.map(({ config }) => config);
  const { extraMethods } = provider;
  const rules = policyRules({ assets, networks, maxPerPayment, extraMethods });
  return new PrivyProvider(provider, rules, sender, recoverSigner, observer);
}
