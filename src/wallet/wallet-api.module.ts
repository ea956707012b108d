import { Module } from '@nestjs/common';
import { ChainModule } from '../platform/chain/chain.module.js';
import { HttpModule } from '../platform/http/http.module.js';
import { AnonymousLimiter, AnonymousRoom } from './anonymous-room.js';
import { AsksV1Controller } from './asks/asks.v1.controller.js';
import { OwnerAnswers } from './asks/owner-answers.js';
import { ContractOwners } from './auth/contract-owners.js';
import { DeviceCodes } from './auth/device-codes.js';
import { Sessions } from './auth/sessions.js';
import { SignIn } from './auth/sign-in.js';
import { TokenIssuer } from './auth/token.js';
import { ApprovalService } from './http/approval.service.js';
import { ApprovalsV1Controller } from './http/approvals.v1.controller.js';
import { FilesV1Controller } from './http/files.v1.controller.js';
import { PolicyService } from './http/policy.service.js';
import { SignInV1Controller } from './http/sign-in.v1.controller.js';
import { TokensV1Controller } from './http/tokens.v1.controller.js';
import { WalletPagesController } from './http/wallet-pages.controller.js';
import { WalletsV1Controller } from './http/wallets.v1.controller.js';
import { McpController } from './mcp/mcp.controller.js';
import { AccessTokens, Bearers } from './oauth/access-tokens.js';
import { GrantEnding } from './oauth/grant-ending.js';
import { GrantStore } from './oauth/grant-store.js';
import { GrantsV1Controller } from './oauth/grants.v1.controller.js';
import { OAuthRecords } from './oauth/oauth-records.js';
import { RegisteredClients } from './oauth/registered-clients.js';
import { PasskeyOwners } from './passkeys/passkey-owners.js';
import { PasskeysV1Controller } from './passkeys/passkeys.v1.controller.js';
import { WalletBudgetModule } from './wallet-budget.module.js';
import { WalletKeysModule } from './wallet-keys.module.js';
import { WalletPayModule } from './wallet-pay.module.js';

/** The interfaces of the wallet for owners and agents: sign-in, REST and MCP. */
@Module({
  imports: [ChainModule, HttpModule, WalletKeysModule, WalletBudgetModule, WalletPayModule],
  controllers: [
    WalletPagesController,
    SignInV1Controller,
    WalletsV1Controller,
    AsksV1Controller,
    TokensV1Controller,
    GrantsV1Controller,
    PasskeysV1Controller,
    McpController,
    FilesV1Controller,
    ApprovalsV1Controller,
  ],
  providers: [
    TokenIssuer,
    DeviceCodes,
    PasskeyOwners,
    ContractOwners,
    SignIn,
    Sessions,
    AnonymousLimiter,
    AnonymousRoom,
    PolicyService,
    OwnerAnswers,
    OAuthRecords,
    RegisteredClients,
    GrantStore,
    GrantEnding,
    AccessTokens,
    Bearers,
    ApprovalService,
  ],
  exports: [
    SignIn,
    Sessions,
    ApprovalService,
    OAuthRecords,
    RegisteredClients,
    GrantStore,
    GrantEnding,
    Bearers,
    AnonymousRoom,
  ],
})
export class WalletApiModule {}
