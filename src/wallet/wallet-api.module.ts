import { Module } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { ChainRegistry } from '../platform/chain/chain-registry.js';
import type { WalletConfig } from '../platform/config/wallet-settings.js';
import { provide } from '../platform/nest/provide.js';
import { RateLimiter } from '../platform/rate-limit/rate-limiter.js';
import { WALLET_REDIS } from '../platform/redis/redis.module.js';
import { redisRoom } from '../platform/redis/redis-room.js';
import { WalletDirectory } from './accounts/wallet-directory.js';
import { WalletStore } from './accounts/wallet-store.js';
import { AnonymousRoom } from './anonymous-room.js';
import { AskTexts } from './asks/ask.js';
import { AskStore } from './asks/ask-store.js';
import { AsksV1Controller } from './asks/asks.v1.controller.js';
import { OwnerAnswers, type OwnerAnswersParts } from './asks/owner-answers.js';
import { Journal } from './audit/journal.js';
import { ContractOwners } from './auth/contract-owners.js';
import { DeviceCodes } from './auth/device-codes.js';
import { IssuedTokens } from './auth/issued-tokens.js';
import { Sessions } from './auth/sessions.js';
import { SignIn, type SignInParts } from './auth/sign-in.js';
import { TokenIssuer } from './auth/token.js';
import { WalletRestorer } from './budget/rebuild.js';
import { ApprovalService } from './http/approval.service.js';
import { ApprovalsV1Controller } from './http/approvals.v1.controller.js';
import { FilesV1Controller } from './http/files.v1.controller.js';
import { PolicyService } from './http/policy.service.js';
import { SignInV1Controller } from './http/sign-in.v1.controller.js';
import { TokensV1Controller } from './http/tokens.v1.controller.js';
import { WalletBody } from './http/wallet-body.service.js';
import { WalletPagesController } from './http/wallet-pages.controller.js';
import { WalletsV1Controller } from './http/wallets.v1.controller.js';
import type { LinkEnding } from './hub/link-ending.js';
import { McpController } from './mcp/mcp.controller.js';
import { Bearers } from './oauth/access-tokens.js';
import { GrantBook } from './oauth/grant-book.js';
import { GrantEnding } from './oauth/grant-ending.js';
import { GrantsV1Controller } from './oauth/grants.v1.controller.js';
import { OAuthRecords } from './oauth/oauth-records.js';
import { OAUTH_STORES } from './oauth/oauth-stores.js';
import { RegisteredClients } from './oauth/registered-clients.js';
import { PasskeyBook } from './passkeys/passkey-book.js';
import { PasskeyOwners, type PasskeyParts } from './passkeys/passkey-owners.js';
import { PasskeysV1Controller } from './passkeys/passkeys.v1.controller.js';
import { RedisLock } from './redis-lock.js';
import { unitOf } from './rules/unit.js';
import { RecordSeal } from './seal/record-seal.js';
import { WalletBudgetModule } from './wallet-budget.module.js';
import { WalletKeysModule } from './wallet-keys.module.js';
import { WalletPayModule } from './wallet-pay.module.js';
import {
  LINK_ENDING,
  PASSKEY_OWNERS,
  RECOVER_WALLET_SIGNER,
  WALLET_CLOCK,
  WALLET_SETTINGS,
  type WalletClock,
} from './wallet-tokens.js';

interface SignInSurroundings extends Omit<SignInParts, 'contracts' | 'passkeys' | 'publicUrl'> {
  readonly wallet: WalletConfig;
  readonly chains: ChainRegistry;
  readonly passkeys: { readonly owners: PasskeyOwners | undefined };
}

interface PasskeySurroundings extends Omit<PasskeyParts, 'publicUrl'> {
  readonly wallet: WalletConfig;
}

function contractOwnersOf(
  { contractOwnersOn: chainId }: WalletConfig,
  chains: ChainRegistry,
): ContractOwners | undefined {
  const chain = chainId === undefined ? undefined : chains.get(chainId);
  return chain === undefined ? undefined : new ContractOwners(chain);
}

interface SessionSurroundings {
  readonly wallet: WalletConfig;
  readonly mint: TokenIssuer;
  readonly directory: WalletDirectory;
  readonly book: WalletStore;
  readonly journal: Journal;
  readonly redis: Redis;
  readonly issued: IssuedTokens;
  readonly ending: { readonly links: LinkEnding | undefined };
  readonly now: WalletClock;
}

interface PolicySurroundings {
  readonly directory: WalletDirectory;
  readonly book: WalletStore;
  readonly journal: Journal;
  readonly locks: RedisLock;
  readonly wallet: WalletConfig;
  readonly now: WalletClock;
}

/** How owners and agents reach the wallet: sign-in, REST and MCP. */
@Module({
  imports: [WalletKeysModule, WalletBudgetModule, WalletPayModule],
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
    {
      provide: TokenIssuer,
      inject: [WALLET_SETTINGS, WALLET_CLOCK],
      useFactory: ({ tokenSecret, publicUrl }: WalletConfig, now: WalletClock) =>
        new TokenIssuer(tokenSecret, publicUrl, now),
    },
    {
      provide: DeviceCodes,
      inject: [WALLET_REDIS, RecordSeal],
      useFactory: (redis: Redis, seal: RecordSeal) => new DeviceCodes(redis, seal),
    },
    provide(
      PASSKEY_OWNERS,
      {
        wallet: WALLET_SETTINGS,
        redis: WALLET_REDIS,
        seal: RecordSeal,
        book: PasskeyBook,
        journal: Journal,
        restorer: WalletRestorer,
        now: WALLET_CLOCK,
      },
      ({ wallet: { hasPasskeys, publicUrl }, ...parts }: PasskeySurroundings) => ({
        owners: hasPasskeys ? new PasskeyOwners({ ...parts, publicUrl }) : undefined,
      }),
    ),
    provide(
      SignIn,
      {
        wallet: WALLET_SETTINGS,
        redis: WALLET_REDIS,
        seal: RecordSeal,
        recoverSigner: RECOVER_WALLET_SIGNER,
        chains: ChainRegistry,
        now: WALLET_CLOCK,
        passkeys: PASSKEY_OWNERS,
      },
      ({ wallet, chains, passkeys, ...parts }: SignInSurroundings) =>
        new SignIn({
          ...parts,
          publicUrl: wallet.publicUrl,
          passkeys: passkeys.owners,
          contracts: contractOwnersOf(wallet, chains),
        }),
    ),
    provide(
      Sessions,
      {
        wallet: WALLET_SETTINGS,
        mint: TokenIssuer,
        directory: WalletDirectory,
        book: WalletStore,
        journal: Journal,
        redis: WALLET_REDIS,
        now: WALLET_CLOCK,
        issued: IssuedTokens,
        ending: LINK_ENDING,
      },
      ({ wallet, ending, ...parts }: SessionSurroundings) =>
        new Sessions({
          ...parts,
          links: ending.links,
          rules: { agentTokenSeconds: wallet.tokenTtlSeconds, owners: wallet.owners },
        }),
    ),
    {
      provide: RateLimiter,
      inject: [WALLET_REDIS],
      useFactory: (redis: Redis) => new RateLimiter(redis, 'wallet'),
    },
    {
      provide: AnonymousRoom,
      inject: [WALLET_REDIS],
      useFactory: (redis: Redis) =>
        new AnonymousRoom(new RateLimiter(redis, 'wallet-room'), redisRoom(redis)),
    },
    provide(
      PolicyService,
      {
        directory: WalletDirectory,
        book: WalletStore,
        journal: Journal,
        locks: RedisLock,
        wallet: WALLET_SETTINGS,
        now: WALLET_CLOCK,
      },
      ({ directory, book, journal, locks, ...deployment }: PolicySurroundings) =>
        new PolicyService(directory, book, journal, locks, {
          now: deployment.now,
          decimalsOf: (asset) => unitOf(deployment.wallet.assets, asset).decimals,
        }),
    ),
    provide(
      OwnerAnswers,
      {
        store: AskStore,
        texts: AskTexts,
        signIn: SignIn,
        directory: WalletDirectory,
        journal: Journal,
        locks: RedisLock,
        now: WALLET_CLOCK,
      },
      (parts: OwnerAnswersParts) => new OwnerAnswers(parts),
    ),
    ...OAUTH_STORES,
    WalletBody,
    ApprovalService,
  ],
  exports: [
    SignIn,
    Sessions,
    RateLimiter,
    ApprovalService,
    WalletBody,
    OAuthRecords,
    RegisteredClients,
    GrantBook,
    GrantEnding,
    Bearers,
    AnonymousRoom,
  ],
})
export class WalletApiModule {}
