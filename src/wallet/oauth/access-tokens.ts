import { Inject, Injectable } from '@nestjs/common';
import type { WalletConfig } from '../../platform/config/wallet-settings.js';
import { Sessions } from '../auth/sessions.js';
import { invalidToken } from '../auth/token.js';
import type { Session } from '../session.js';
import { WALLET_CLOCK, WALLET_SETTINGS, type WalletClock } from '../wallet-tokens.js';
import { GrantStore } from './grant-store.js';
import { resourceOf } from './oauth-names.js';
import { OAuthRecords } from './oauth-records.js';

/** As `oidc-provider` makes them: 256 bits. Tokens of the wallet itself contain dots. */
const ACCESS_TOKEN = /^Bearer ([\w-]{43})$/i;

/** The access token of an OAuth client, for the only resource. */
@Injectable()
export class AccessTokens {
  constructor(
    private readonly records: OAuthRecords,
    private readonly grants: GrantStore,
    private readonly sessions: Sessions,
    @Inject(WALLET_SETTINGS) private readonly settings: Pick<WalletConfig, 'publicUrl'>,
    @Inject(WALLET_CLOCK) private readonly now: WalletClock,
  ) {}

  /** @throws WalletError `unauthorized`. */
  async of(authorization: string | undefined): Promise<Session> {
    const token = ACCESS_TOKEN.exec(authorization ?? '')?.[1] ?? '';
    const found = await this.records.find('AccessToken', token);
    if (found?.kind !== 'AccessToken' || found.aud !== resourceOf(this.settings.publicUrl))
      throw invalidToken();
    const { exp = 0, grantId = '', accountId, clientId, scope = '' } = found;
    if (exp <= this.now()) throw invalidToken();
    // A revoked grant is not found.
    const grant = await this.grants.find(grantId);
    if (grant === undefined || grant.owner !== accountId || grant.clientId !== clientId) {
      throw invalidToken();
    }
    const session = await this.sessions.ofGrant(grant);
    const given = scope.split(' ').filter((one) => grant.scopes.includes(one));
    return { ...session, expiresAt: exp, scopes: new Set(given) };
  }
}

/** Finds the bearer of a token of either kind. */
@Injectable()
export class Bearers {
  constructor(
    private readonly sessions: Sessions,
    private readonly accessTokens: AccessTokens,
  ) {}

  /**
   * By a token of the wallet itself, which is valid everywhere.
   *
   * @param address - the network address of the caller.
   * @throws WalletError as {@link Sessions.of}.
   */
  own(authorization: string | undefined, address: string | undefined): Promise<Session> {
    return this.sessions.of(authorization, address);
  }

  /** By either kind, at the resource that tokens of OAuth are for. @throws WalletError as {@link own}. */
  any(authorization: string | undefined, address: string | undefined): Promise<Session> {
    const isOAuth = ACCESS_TOKEN.test(authorization ?? '');
    return isOAuth ? this.accessTokens.of(authorization) : this.own(authorization, address);
  }
}
