import { Module } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { ChainRegistry } from '../platform/chain/chain-registry.js';
import { AppConfig } from '../platform/config/app-config.js';
import type { WalletConfig } from '../platform/config/wallet-settings.js';
import { provide } from '../platform/nest/provide.js';
import { WALLET_REDIS } from '../platform/redis/redis.module.js';
import type { RecoverSigner } from '../protocol/schemes/verdict.js';
import { WalletDirectory } from './accounts/wallet-directory.js';
import { AskTexts } from './asks/ask.js';
import { AskStore } from './asks/ask-store.js';
import { Asking } from './asks/asking.js';
import { Journal } from './audit/journal.js';
import { Reconciler } from './budget/reconciler.js';
import { SpendingStore } from './budget/spending-store.js';
import { CatalogueClient } from './catalogue/catalogue-client.js';
import { ServiceFinder } from './catalogue/service-finder.js';
import { HubClient } from './hub/hub-client.js';
import { HubSigner } from './hub/hub-signer.js';
import { WalletFiles } from './hub/wallet-files.js';
import { Balances } from './pay/balances.js';
import { Charger } from './pay/charger.js';
import { IntentStore } from './pay/intent.js';
import { PayService } from './pay/pay.service.js';
import { Presenter } from './pay/presenter.js';
import { WalletFetch } from './pay/wallet-fetch.js';
import type { WalletProvider } from './provider/wallet-provider.js';
import { RedisLock } from './redis-lock.js';
import type { KnownContracts } from './rules/decode-typed-data.js';
import { RecordSeal } from './seal/record-seal.js';
import { Authorizer } from './signing/authorizer.js';
import { ReplyStore } from './signing/reply-store.js';
import { WalletRpc } from './signing/rpc.js';
import { WalletSigner } from './signing/signer.js';
import { WalletToolsService } from './tools/wallet-tools.service.js';
import { WalletBudgetModule } from './wallet-budget.module.js';
import { WalletKeysModule } from './wallet-keys.module.js';
import { WalletObserver } from './wallet-observer.js';
import {
  KNOWN_CONTRACTS,
  RECOVER_WALLET_SIGNER,
  WALLET_CLOCK,
  WALLET_PROVIDER,
  WALLET_SETTINGS,
  type WalletClock,
} from './wallet-tokens.js';

interface PaySurroundings {
  readonly config: AppConfig;
  readonly wallet: WalletConfig;
  readonly redis: Redis;
  readonly seal: RecordSeal;
  readonly known: KnownContracts;
  readonly authorizer: Authorizer;
  readonly signer: WalletSigner;
  readonly fetcher: WalletFetch;
  readonly balances: Balances;
  readonly store: SpendingStore;
  readonly reconciler: Reconciler;
  readonly locks: RedisLock;
  readonly journal: Journal;
  readonly observer: WalletObserver;
  readonly asks: AskStore;
  readonly now: WalletClock;
}

function createPayments({ config, wallet, redis, seal, ...parts }: PaySurroundings): PayService {
  const { known, authorizer, signer, fetcher, balances, now } = parts;
  const { store, reconciler, locks, journal, observer, asks } = parts;
  const intentLifeSeconds = config.retentionSeconds;
  const timeoutMs = wallet.fetchTimeoutMs;
  const { publicUrl } = wallet;
  const intents = new IntentStore(redis, seal, intentLifeSeconds);
  const asking = new Asking(asks, wallet.askSeconds, now);
  return new PayService({
    charger: new Charger({ known, authorizer, intents, balances, asking, intentLifeSeconds, now }),
    presenter: new Presenter({ fetcher, known, authorizer, signer, timeoutMs }),
    ...{ fetcher, known, intents, store, reconciler, locks, journal, observer, now },
    ...{ asking, publicUrl, timeoutMs },
  });
}

interface ToolsSurroundings {
  readonly wallet: WalletConfig;
  readonly provider: WalletProvider;
  readonly directory: WalletDirectory;
  readonly store: SpendingStore;
  readonly payments: PayService;
  readonly balances: Balances;
  readonly fetcher: WalletFetch;
  readonly known: KnownContracts;
  readonly chains: ChainRegistry;
  readonly authorizer: Authorizer;
  readonly signer: WalletSigner;
  readonly now: WalletClock;
}

function createFiles({
  wallet: { hub, fetchTimeoutMs: timeoutMs, fetchMaxBytes: messageMaxBytes },
  authorizer,
  signer: walletSigner,
  now,
}: ToolsSurroundings): WalletFiles | undefined {
  if (hub === undefined) return undefined;
  const signer = new HubSigner(authorizer, walletSigner, hub.address, now);
  const client = new HubClient({ signer, url: hub.url, timeoutMs });
  return new WalletFiles({ client, signer, messageMaxBytes });
}

function createServiceFinder(
  { catalogueUrl, fetchTimeoutMs }: WalletConfig,
  known: KnownContracts,
): ServiceFinder | undefined {
  if (catalogueUrl === undefined) return undefined;
  return new ServiceFinder(
    new CatalogueClient(catalogueUrl, fetchTimeoutMs),
    known,
    fetchTimeoutMs,
  );
}

/** What a wallet does: it signs, it pays, it calls the chain. */
@Module({
  imports: [WalletKeysModule, WalletBudgetModule],
  providers: [
    {
      provide: WalletSigner,
      inject: [WALLET_PROVIDER, Authorizer, KNOWN_CONTRACTS, RECOVER_WALLET_SIGNER, WALLET_CLOCK],
      useFactory: (
        provider: WalletProvider,
        authorizer: Authorizer,
        known: KnownContracts,
        recoverSigner: RecoverSigner,
        now: WalletClock,
      ) => new WalletSigner(provider, authorizer, known, recoverSigner, now),
    },
    {
      provide: WalletFetch,
      inject: [WALLET_SETTINGS],
      useFactory: ({ fetchMaxBytes, fetchAllow }: WalletConfig) =>
        new WalletFetch({ maxBytes: fetchMaxBytes, allow: fetchAllow }),
    },
    {
      provide: Balances,
      inject: [ChainRegistry],
      useFactory: (chains: ChainRegistry) => new Balances(chains),
    },
    {
      provide: AskTexts,
      inject: [RecordSeal],
      useFactory: (seal: RecordSeal) => new AskTexts(seal),
    },
    {
      provide: AskStore,
      inject: [WALLET_REDIS, AskTexts],
      useFactory: (redis: Redis, texts: AskTexts) => new AskStore(redis, texts),
    },
    provide(
      PayService,
      {
        ...{ config: AppConfig, wallet: WALLET_SETTINGS, redis: WALLET_REDIS, seal: RecordSeal },
        ...{ known: KNOWN_CONTRACTS, authorizer: Authorizer, signer: WalletSigner },
        ...{ fetcher: WalletFetch, balances: Balances, store: SpendingStore },
        ...{ reconciler: Reconciler, locks: RedisLock, journal: Journal },
        ...{ observer: WalletObserver, asks: AskStore, now: WALLET_CLOCK },
      },
      createPayments,
    ),
    {
      provide: ReplyStore,
      inject: [WALLET_REDIS, RedisLock, RecordSeal],
      useFactory: (redis: Redis, locks: RedisLock, seal: RecordSeal) =>
        new ReplyStore(redis, locks, seal),
    },
    {
      provide: WalletRpc,
      inject: [WalletSigner, ReplyStore, ChainRegistry],
      useFactory: (signer: WalletSigner, replies: ReplyStore, chains: ChainRegistry) =>
        new WalletRpc(signer, replies, chains),
    },
    provide(
      WalletToolsService,
      {
        ...{ wallet: WALLET_SETTINGS, provider: WALLET_PROVIDER, directory: WalletDirectory },
        ...{ store: SpendingStore, payments: PayService, balances: Balances, fetcher: WalletFetch },
        ...{ known: KNOWN_CONTRACTS, chains: ChainRegistry, now: WALLET_CLOCK },
        ...{ authorizer: Authorizer, signer: WalletSigner },
      },
      (surroundings: ToolsSurroundings) => {
        const { wallet, ...parts } = surroundings;
        const { assets, publicUrl, fetchTimeoutMs } = wallet;
        const services = createServiceFinder(wallet, parts.known);
        const files = createFiles(surroundings);
        const deployment = { assets, publicUrl, fetchTimeoutMs };
        return new WalletToolsService({ ...parts, ...deployment, services, files });
      },
    ),
  ],
  exports: [AskTexts, AskStore, WalletFetch, WalletRpc, WalletToolsService],
})
export class WalletPayModule {}
