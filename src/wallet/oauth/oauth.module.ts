import { Module } from '@nestjs/common';
import { PinoLogger } from 'nestjs-pino';
import type { WalletConfig } from '../../platform/config/wallet-settings.js';
import { provide } from '../../platform/nest/provide.js';
import { AnonymousRoom } from '../anonymous-room.js';
import { Sessions } from '../auth/sessions.js';
import { SignIn } from '../auth/sign-in.js';
import { ApprovalService } from '../http/approval.service.js';
import { WalletApiModule } from '../wallet-api.module.js';
import { WalletBudgetModule } from '../wallet-budget.module.js';
import { WalletKeysModule } from '../wallet-keys.module.js';
import { WALLET_CLOCK, WALLET_SETTINGS } from '../wallet-tokens.js';
import { type ServerParts, startAuthorizationServer } from './authorization-server.js';
import { ClientDocuments } from './client-documents.js';
import { ConsentController } from './consent.controller.js';
import { type ConsentParts, ConsentService } from './consent.service.js';
import { GrantBook } from './grant-book.js';
import { GrantEnding } from './grant-ending.js';
import { OAuthMetadataController } from './metadata.controller.js';
import { OAuthController } from './oauth.controller.js';
import { scopesOffered } from './oauth-names.js';
import { OAuthRecords } from './oauth-records.js';
import { AUTHORIZATION_SERVER } from './oauth-tokens.js';
import { RegisteredClients } from './registered-clients.js';

interface ServerSurroundings extends Omit<
  ServerParts,
  'publicUrl' | 'sealSecret' | 'tokenTtlSeconds' | 'scopes' | 'onFailure'
> {
  readonly wallet: WalletConfig;
  readonly logger: PinoLogger;
}

/** Imported only where `WALLET_OAUTH` is on: the wallet's own authorization server. */
@Module({
  imports: [WalletKeysModule, WalletBudgetModule, WalletApiModule],
  controllers: [OAuthMetadataController, OAuthController, ConsentController],
  providers: [
    provide(
      AUTHORIZATION_SERVER,
      {
        wallet: WALLET_SETTINGS,
        logger: PinoLogger,
        sessions: Sessions,
        records: OAuthRecords,
        clients: RegisteredClients,
        grants: GrantBook,
        ending: GrantEnding,
        documents: ClientDocuments,
        room: AnonymousRoom,
      },
      ({ wallet, logger, ...parts }: ServerSurroundings) =>
        startAuthorizationServer({
          ...parts,
          publicUrl: wallet.publicUrl,
          sealSecret: wallet.sealSecret,
          tokenTtlSeconds: wallet.tokenTtlSeconds,
          scopes: scopesOffered(wallet),
          onFailure: (err) => {
            logger.error({ err }, 'the authorization server failed');
          },
        }),
    ),
    provide(
      ClientDocuments,
      { wallet: WALLET_SETTINGS },
      ({ wallet }: { readonly wallet: WalletConfig }) =>
        new ClientDocuments(wallet.oauthFetchAllow),
    ),
    provide(
      ConsentService,
      {
        signIn: SignIn,
        sessions: Sessions,
        approvals: ApprovalService,
        grants: GrantBook,
        clients: RegisteredClients,
        wallet: WALLET_SETTINGS,
        now: WALLET_CLOCK,
      },
      (parts: ConsentParts) => new ConsentService(parts),
    ),
  ],
})
export class WalletOAuthModule {
  constructor(private readonly documents: ClientDocuments) {}

  /** Ends with the application: Nest calls it. */
  async onModuleDestroy(): Promise<void> {
    await this.documents.close();
  }
}
