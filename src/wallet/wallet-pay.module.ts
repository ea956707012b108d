import { Module } from '@nestjs/common';
import { ChainModule } from '../platform/chain/chain.module.js';
import { ApprovalRequests } from './asks/approval-requests.js';
import { AskTexts } from './asks/ask.js';
import { AskStore } from './asks/ask-store.js';
import { ServiceFinder } from './catalogue/service-finder.js';
import { WALLET_HUB_PROVIDER } from './hub/wallet-hub.js';
import { McpSeller } from './mcp-sellers/mcp-seller.js';
import { Balances } from './pay/balances.js';
import { Charger } from './pay/charger.js';
import { IntentStore } from './pay/intent.js';
import { PayService } from './pay/pay.service.js';
import { PaymentRecords } from './pay/payment-records.js';
import { Presenter } from './pay/presenter.js';
import { PurchaseRoom } from './pay/purchase-room.js';
import { Saving } from './pay/saving.js';
import { WalletFetch } from './pay/wallet-fetch.js';
import { ReplyStore } from './signing/reply-store.js';
import { WalletRpc } from './signing/rpc.js';
import { WalletSigner } from './signing/signer.js';
import { WalletToolsService } from './tools/wallet-tools.service.js';
import { WalletBudgetModule } from './wallet-budget.module.js';
import { WalletKeysModule } from './wallet-keys.module.js';
import { WalletRedisRoom } from './wallet-redis-room.js';

/** Operations of a wallet: it signs, it pays, it calls the chain. */
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
    ApprovalRequests,
    IntentStore,
    WalletRedisRoom,
    PurchaseRoom,
    PaymentRecords,
    Charger,
    Presenter,
    Saving,
    PayService,
    ServiceFinder,
    WalletToolsService,
  ],
  exports: [
    AskTexts,
    AskStore,
    WALLET_HUB_PROVIDER,
    WalletFetch,
    WalletRedisRoom,
    WalletRpc,
    WalletToolsService,
  ],
})
export class WalletPayModule {}
