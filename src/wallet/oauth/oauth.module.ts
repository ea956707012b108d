import { Module } from '@nestjs/common';
import { WalletApiModule } from '../wallet-api.module.js';
import { WalletBudgetModule } from '../wallet-budget.module.js';
import { WalletKeysModule } from '../wallet-keys.module.js';
import {
  AUTHORIZATION_SERVER,
  ServerParts,
  startAuthorizationServer,
} from './authorization-server.js';
import { ClientDocuments } from './client-documents.js';
import { ConsentController } from './consent.controller.js';
import { ConsentService } from './consent.service.js';
import { OAuthMetadataController } from './metadata.controller.js';
import { OAuthController } from './oauth.controller.js';

/** Imported only where `WALLET_OAUTH` is on: the wallet's own authorization server. */
@Module({
  imports: [WalletKeysModule, WalletBudgetModule, WalletApiModule],
  controllers: [OAuthMetadataController, OAuthController, ConsentController],
  providers: [
    ClientDocuments,
    ConsentService,
    ServerParts,
    {
      provide: AUTHORIZATION_SERVER,
      inject: [ServerParts],
      useFactory: startAuthorizationServer,
    },
  ],
})
export class WalletOAuthModule {}
