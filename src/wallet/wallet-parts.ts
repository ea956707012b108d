import type { Redis } from 'ioredis';
import type { ChainRegistry } from '../platform/chain/chain-registry.js';
import type { WalletConfig } from '../platform/config/wallet-settings.js';
import { RateLimiter } from '../platform/rate-limit/rate-limiter.js';
import type { RecoverSigner } from '../protocol/schemes/verdict.js';
import { RulesSeal } from './accounts/rules-seal.js';
import { WalletDirectory } from './accounts/wallet-directory.js';
import { WalletStore } from './accounts/wallet-store.js';
import { Journal } from './audit/journal.js';
import { RedisWitness } from './audit/journal-witness.js';
import { DeviceCodes } from './auth/device-codes.js';
import { Sessions } from './auth/sessions.js';
import { SignIn } from './auth/sign-in.js';
import { TokenIssuer } from './auth/token.js';
import { WalletRestorer } from './budget/rebuild.js';
import { Reconciler } from './budget/reconciler.js';
import { SpendingStore } from './budget/spending-store.js';
import { PolicyService } from './http/policy.service.js';
import { Balances } from './pay/balances.js';
import { Charger } from './pay/charger.js';
import { IntentStore, renewIntent } from './pay/intent.js';
import { PayService } from './pay/pay.service.js';
import { Presenter } from './pay/presenter.js';
import { SafeFetch } from './pay/safe-fetch.js';
import { Keystore } from './provider/local/keystore.js';
import { LocalProvider } from './provider/local/local-provider.js';
import { policyRules } from './provider/privy/privy-policy.js';
import { PrivyProvider } from './provider/privy/privy-provider.js';
import { TransactionSender } from './provider/transaction-sender.js';
import type { WalletProvider } from './provider/wallet-provider.js';
import { RedisLock } from './redis-lock.js';
import { firstPolicy } from './rules/policy.js';
import { KeyRing } from './seal/key-ring.js';
import { RecordSeal } from './seal/record-seal.js';
import { Authorizer } from './signing/authorizer.js';
import { knownContracts } from './signing/known-contracts.js';
import { ReplyStore } from './signing/reply-store.js';
import { WalletRpc } from './signing/rpc.js';
import { WalletSigner } from './signing/signer.js';
import { WalletToolsService } from './tools/wallet-tools.service.js';
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
  /** Told what the reconciler, or the journal between requests, could not do. */
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
  readonly rateLimiter: RateLimiter;
  readonly policies: PolicyService;
  readonly rpc: WalletRpc;
  readonly walletTools: WalletToolsService;
}

/** Puts the wallet together; nothing is opened or started yet. */
export function assembleWallet(config: WalletConfig, around: WalletSurroundings): WalletParts {
  const { redis, chains, retentionSeconds, recoverSigner, observer, now, onFailure } = around;
  const { assets, publicUrl, fetchTimeoutMs, sealSecret } = config;
  const seal = new RecordSeal(new KeyRing(sealSecret, 'redis-records'));
  const rules = new RulesSeal(seal);
  const locks = new RedisLock(redis);
  const provider = providerOf(config, around, new TransactionSender(chains, redis, locks, seal));
  const journal = new Journal({
    dir: config.auditDir,
    keys: new KeyRing(sealSecret, 'journal'),
    witness: new RedisWitness(redis, seal),
    renewIntent: (wallet, id, record) => renewIntent(seal, wallet, id, record),
    ...{ retentionSeconds, now, onFailure },
  });
  const book = new WalletStore(redis, rules);
  const restorer = new WalletRestorer({ redis, journal, rules, retentionSeconds, now });
  const directory = new WalletDirectory({
    ...{ provider, journal, restorer, book, locks, now },
    firstPolicy: firstPolicy(config),
  });
  const store = new SpendingStore(redis);
  const reconciler = new Reconciler({ redis, store, chains, journal, observer, now, onFailure });
  const known = knownContracts(assets, chains);
  const authorizer = new Authorizer(directory, store, journal, observer, now);
  const signer = new WalletSigner(provider, authorizer, known, recoverSigner, now);
  const fetcher = new SafeFetch({ maxBytes: config.fetchMaxBytes, allow: config.fetchAllow });
  const balances = new Balances(chains);
  const intents = new IntentStore(redis, seal, retentionSeconds);
  const intentLifeSeconds = retentionSeconds;
  const payments = new PayService({
    charger: new Charger({ known, authorizer, intents, balances, intentLifeSeconds, now }),
    presenter: new Presenter({ fetcher, known, authorizer, signer, timeoutMs: fetchTimeoutMs }),
    ...{ fetcher, known, intents, store, reconciler, locks, journal, observer, now },
    timeoutMs: fetchTimeoutMs,
  });
  const mint = new TokenIssuer(config.tokenSecret, publicUrl, now);
  const sessionRules = { agentTokenSeconds: config.tokenTtlSeconds, owners: config.owners };
  return {
    ...{ provider, journal, reconciler, fetcher, directory },
    health: new WalletHealth(journal, provider),
    codes: new DeviceCodes(redis, seal),
    signIn: new SignIn(redis, seal, recoverSigner, publicUrl, now),
    sessions: new Sessions({ mint, directory, book, journal, redis, rules: sessionRules, now }),
    rateLimiter: new RateLimiter(redis, 'wallet'),
    policies: new PolicyService(directory, book, journal, locks, now),
    rpc: new WalletRpc(signer, new ReplyStore(redis, locks, seal), chains),
    walletTools: new WalletToolsService({
      ...{ provider, directory, store, payments, balances, fetcher, known, chains, assets },
      ...{ publicUrl, fetchTimeoutMs, now },
    }),
  };
}

function providerOf(
  { provider, assets, maxPerPayment }: WalletConfig,
  { chains, recoverSigner, observer, onFailure }: WalletSurroundings,
  sender: TransactionSender,
): WalletProvider {
  if (provider.kind === 'local') {
    return new LocalProvider(new Keystore(provider.dir, provider.secret), sender, onFailure);
  }
  const networks = chains.all.map(({ config }) => config);
  const { extraMethods } = provider;
  const rules = policyRules({ assets, networks, maxPerPayment, extraMethods });
  return new PrivyProvider(provider, rules, sender, recoverSigner, observer);
}
