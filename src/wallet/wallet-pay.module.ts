import { Module } from '@nestjs/common';
import { ChainModule } from '../platform/chain/chain.module.js';
import type { WalletConfig } from '../platform/config/wallet-settings.js';
import { AskTexts } from './asks/ask.js';
import { AskStore } from './asks/ask-store.js';
import { Asking } from './asks/asking.js';
import { CatalogueClient } from './catalogue/catalogue-client.js';
import { ServiceFinder } from './catalogue/service-finder.js';
import { WALLET_HUB_PROVIDER } from './hub/wallet-hub.js';
import { McpSeller } from './mcp-sellers/mcp-seller.js';
import { Balances } from './pay/balances.js';
import { Charger } from './pay/charger.js';
import { IntentStore } from './pay/intent.js';
import { PayService } from './pay/pay.service.js';
import { PaymentRecords } from './pay/payment-records.js';
import { Presenter } from './pay/presenter.js';
import { Saving } from './pay/saving.js';
import { WalletFetch } from './pay/wallet-fetch.js';
import type { KnownContracts } from './rules/decode-typed-data.js';
import { ReplyStore } from './signing/reply-store.js';
import { WalletRpc } from './signing/rpc.js';
import { WalletSigner } from './signing/signer.js';
import { WalletToolsService } from './tools/wallet-tools.service.js';
import { WalletBudgetModule } from './wallet-budget.module.js';
import { WalletKeysModule } from './wallet-keys.module.js';
import { KNOWN_CONTRACTS, WALLET_SETTINGS } from './wallet-tokens.js';

/** What a wallet does: it signs, it pays, it calls the chain. */
@Module({
  imports: [ChainModule, WalletKeysModule, WalletBudgetModule],
  providers: [
    WalletSigner,
    ReplyStore,
    WalletRpc,
    WalletFetch,
    McpSeller,
    WALLET_HUB_PROVIDER,
    Balances,
    AskTexts,
    AskStore,
    Asking,
    IntentStore,
    PaymentRecords,
    Charger,
    Presenter,
    Saving,
    PayService,
    {
      provide: ServiceFinder,
      inject: [WALLET_SETTINGS, KNOWN_CONTRACTS],
      useFactory: ({ catalogueUrl, fetchTimeoutMs }: WalletConfig, known: KnownContracts) =>
        catalogueUrl === undefined
          ? undefined
          : new ServiceFinder(
              new CatalogueClient(catalogueUrl, fetchTimeoutMs),
              known,
              fetchTimeoutMs,
            ),
    },
    WalletToolsService,
  ],
  exports: [AskTexts, AskStore, WALLET_HUB_PROVIDER, WalletFetch, WalletRpc, WalletToolsService],
})
export class WalletPayModule {}
