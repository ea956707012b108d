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
import { LinkEnding, type LinkEndingParts } from './hub/link-ending.js';
import { WalletFiles } from './hub/wallet-files.js';
import { McpSeller } from './mcp-sellers/mcp-seller.js';
import { Balances } from './pay/balances.js';
import { Charger } from './pay/charger.js';
import { FileSaver } from './pay/file-saver.js';
import { IntentStore } from './pay/intent.js';
import { PayService } from './pay/pay.service.js';
import { Presenter } from './pay/presenter.js';
import { Saving } from './pay/saving.js';
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
  LINK_ENDING,
  RECOVER_WALLET_SIGNER,
  WALLET_CLOCK,
  WALLET_PROVIDER,
  WALLET_SETTINGS,
  WALLET_UPKEEP_FAILED,
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
  readonly hub: HubAccess | undefined;
  readonly now: WalletClock;
}

function createPayments({
  config,
  wallet,
  redis,
  seal,
  hub,
  ...parts
}: PaySurroundings): PayService {
  const { known, authorizer, signer, fetcher, balances, now } = parts;
  const { store, reconciler, locks, journal, observer, asks } = parts;
  const intentLifeSeconds = config.retentionSeconds;
  const timeoutMs = wallet.fetchTimeoutMs;
  const { publicUrl } = wallet;
  const intents = new IntentStore(redis, seal, intentLifeSeconds);
  const asking = new Asking(asks, wallet.askSeconds, now);
  const mcpSeller = new McpSeller(fetcher, wallet.fetchMaxBytes);
  const presenter = new Presenter({ fetcher, mcpSeller, known, authorizer, signer, timeoutMs });
  return new PayService({
    charger: new Charger({ known, authorizer, intents, balances, asking, intentLifeSeconds, now }),
    presenter,
    saving: new Saving({ fetcher, presenter, saver: createSaver(wallet, hub) }),
    fetcher,
    known,
    intents,
    store,
    reconciler,
    locks,
    journal,
    observer,
    now,
    asking,
    publicUrl,
    timeoutMs,
    mcpSeller,
  });
}

/** What asks the hub and signs for it; `undefined` where none is named. */
interface HubAccess {
  readonly client: HubClient;
  readonly signer: HubSigner;
}
const HUB_ACCESS = Symbol('HUB_ACCESS');

interface HubSurroundings {
  readonly wallet: WalletConfig;
  readonly authorizer: Authorizer;
  readonly walletSigner: WalletSigner;
  readonly now: WalletClock;
}

function createHubAccess({
  wallet: { hub, fetchTimeoutMs: timeoutMs },
  authorizer,
  walletSigner,
  now,
}: HubSurroundings): HubAccess | undefined {
  if (hub === undefined) return undefined;
  const signer = new HubSigner(authorizer, walletSigner, hub.address, now);
  return { signer, client: new HubClient({ signer, url: hub.url, timeoutMs }) };
}

function createSaver({ hub }: WalletConfig, access: HubAccess | undefined): FileSaver | undefined {
  if (hub === undefined || access === undefined) return undefined;
  const { saveMaxBytes: maxBytes, saveTimeoutMs: timeoutMs } = hub;
  return new FileSaver({ ...access, maxBytes, timeoutMs });
}

interface LinkEndingSurroundings extends Omit<LinkEndingParts, 'client'> {
  readonly hub: HubAccess | undefined;
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
  readonly hub: HubAccess | undefined;
  readonly now: WalletClock;
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
    provide(
      HUB_ACCESS,
      {
        wallet: WALLET_SETTINGS,
        authorizer: Authorizer,
        walletSigner: WalletSigner,
        now: WALLET_CLOCK,
      },
      createHubAccess,
    ),
    provide(
      LINK_ENDING,
      {
        hub: HUB_ACCESS,
        redis: WALLET_REDIS,
        directory: WalletDirectory,
        now: WALLET_CLOCK,
        onFailure: WALLET_UPKEEP_FAILED,
      },
      ({ hub, ...parts }: LinkEndingSurroundings) => ({
        links: hub && new LinkEnding({ ...parts, client: hub.client }),
      }),
    ),
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
        config: AppConfig,
        wallet: WALLET_SETTINGS,
        redis: WALLET_REDIS,
        seal: RecordSeal,
        known: KNOWN_CONTRACTS,
        authorizer: Authorizer,
        signer: WalletSigner,
        fetcher: WalletFetch,
        balances: Balances,
        store: SpendingStore,
        reconciler: Reconciler,
        locks: RedisLock,
        journal: Journal,
        observer: WalletObserver,
        asks: AskStore,
        hub: HUB_ACCESS,
        now: WALLET_CLOCK,
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
        wallet: WALLET_SETTINGS,
        provider: WALLET_PROVIDER,
        directory: WalletDirectory,
        store: SpendingStore,
        payments: PayService,
        balances: Balances,
        fetcher: WalletFetch,
        known: KNOWN_CONTRACTS,
        chains: ChainRegistry,
        now: WALLET_CLOCK,
        hub: HUB_ACCESS,
      },
      ({ wallet, hub, ...parts }: ToolsSurroundings) => {
        const { assets, publicUrl, fetchTimeoutMs, fetchMaxBytes: messageMaxBytes } = wallet;
        const services = createServiceFinder(wallet, parts.known);
        const files = hub && new WalletFiles({ ...hub, messageMaxBytes });
        const deployment = { assets, publicUrl, fetchTimeoutMs };
        return new WalletToolsService({ ...parts, ...deployment, services, files });
      },
    ),
  ],
  exports: [AskTexts, AskStore, WalletFetch, WalletRpc, WalletToolsService, LINK_ENDING],
})
export class WalletPayModule {}
