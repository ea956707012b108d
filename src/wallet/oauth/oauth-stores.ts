import type { Redis } from 'ioredis';
import type { WalletConfig } from '../../platform/config/wallet-settings.js';
import type { provide } from '../../platform/nest/provide.js';
import { WALLET_REDIS } from '../../platform/redis/redis.module.js';
import { WalletDirectory } from '../accounts/wallet-directory.js';
import { Sessions } from '../auth/sessions.js';
import { RecordSeal } from '../seal/record-seal.js';
import { WALLET_CLOCK, WALLET_SETTINGS, type WalletClock } from '../wallet-tokens.js';
import { AccessTokens, Bearers } from './access-tokens.js';
import { GrantBook } from './grant-book.js';
import { GrantEnding } from './grant-ending.js';
import { resourceOf } from './oauth-names.js';
import { OAuthRecords } from './oauth-records.js';
import { RegisteredClients } from './registered-clients.js';

/** What is kept for OAuth: the resource reads of it, the authorization server writes. */
export const OAUTH_STORES: ReturnType<typeof provide>[] = [
  ...[OAuthRecords, RegisteredClients, GrantBook].map((Store) => ({
    provide: Store,
    inject: [WALLET_REDIS, RecordSeal, WALLET_CLOCK],
    useFactory: (redis: Redis, seal: RecordSeal, now: WalletClock) => new Store(redis, seal, now),
  })),
  {
    provide: GrantEnding,
    inject: [GrantBook, Sessions, WalletDirectory, OAuthRecords],
    useFactory: (...parts: ConstructorParameters<typeof GrantEnding>) => new GrantEnding(...parts),
  },
  {
    provide: AccessTokens,
    inject: [OAuthRecords, GrantBook, Sessions, WALLET_SETTINGS, WALLET_CLOCK],
    useFactory: (
      records: OAuthRecords,
      grants: GrantBook,
      sessions: Sessions,
      { publicUrl }: WalletConfig,
      now: WalletClock,
    ) => new AccessTokens(records, grants, sessions, { resource: resourceOf(publicUrl), now }),
  },
  {
    provide: Bearers,
    inject: [Sessions, AccessTokens],
    useFactory: (sessions: Sessions, accessTokens: AccessTokens) =>
      new Bearers(sessions, accessTokens),
  },
];
