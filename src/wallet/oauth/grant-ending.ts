import { Injectable } from '@nestjs/common';
import { WalletDirectory } from '../accounts/wallet-directory.js';
import { Sessions } from '../auth/sessions.js';
import { type Grant, GrantStore } from './grant-store.js';
import { OAuthRecords } from './oauth-records.js';

/** Revokes grants: first in the journal, so that a loss of Redis restores none of them. */
@Injectable()
export class GrantEnding {
  constructor(
    private readonly grants: GrantStore,
    private readonly sessions: Sessions,
    private readonly directory: WalletDirectory,
    private readonly records: OAuthRecords,
  ) {}

  /** All its tokens are void from now on. Idempotent. */
  async end(grant: Grant): Promise<void> {
    const { id, owner, expiresAt } = grant;
    const wallet = await this.directory.walletOf(owner);
    await this.sessions.revoke({ owner, wallet, tokenId: id, expiresAt });
    // The library's record would stay until the grant's original end.
    await this.records.remove('Grant', id);
    await this.grants.remove(grant);
  }

  async endById(grantId: string): Promise<void> {
    const grant = await this.grants.find(grantId);
    if (grant !== undefined) await this.end(grant);
  }
}
