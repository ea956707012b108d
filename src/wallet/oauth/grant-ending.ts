import { Injectable } from '@nestjs/common';
import { WalletDirectory } from '../accounts/wallet-directory.js';
import { Sessions } from '../auth/sessions.js';
import { type Grant, GrantStore } from './grant-store.js';
import { OAuthRecords } from './oauth-records.js';

/** Ends grants: on the record first, so that a loss of Redis brings none of them back. */
@Injectable()
export class GrantEnding {
  constructor(
    private readonly grants: GrantStore,
    private readonly sessions: Sessions,
    private readonly directory: WalletDirectory,
    private readonly records: OAuthRecords,
  ) {}

  /** All tokens of it are void from now on. Again is the same. */
  async end(grant: Grant): Promise<void> {
    const { id, owner, expiresAt } = grant;
    const wallet = await this.directory.walletOf(owner);
    await this.sessions.revoke({ owner, wallet, tokenId: id, expiresAt });
    // What the library keeps of it would stay for as long as it was given for.
    await this.records.remove('Grant', id);
    await this.grants.remove(grant);
  }

  async endById(grantId: string): Promise<void> {
    const grant = await this.grants.find(grantId);
    if (grant !== undefined) await this.end(grant);
  }
}
