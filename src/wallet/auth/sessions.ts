import type { Redis } from 'ioredis';
import type { Address } from 'viem';
import { ledgerCall } from '../../redis/redis-scripts.js';
import type { Journal } from '../audit/journal.js';
import type { WalletBook } from '../accounts/wallet-book.js';
import type { WalletDirectory } from '../accounts/wallet-directory.js';
import type { Session } from '../session.js';
import { WalletError } from '../wallet-error.js';
import { revokedTokenKey } from '../wallet-keys.js';
import { invalidToken, type TokenMint } from './token.js';

/** Long enough to change rules with care, too short to be left lying about. */
const OWNER_TOKEN_SECONDS = 900;

export interface SessionRules {
  readonly agentTokenSeconds: number;
  /** Who may have a wallet; anybody when absent. */
  readonly owners: ReadonlySet<Address> | undefined;
}

/** Tokens in use: handed out, looked up, revoked. */
export class Sessions {
  constructor(
    private readonly mint: TokenMint,
    private readonly directory: WalletDirectory,
    private readonly book: WalletBook,
    private readonly journal: Journal,
    private readonly redis: Redis,
    private readonly rules: SessionRules,
    private readonly now: () => number,
  ) {}

  /**
   * A token for somebody who has proven to be, or to be sent by, the owner.
   *
   * @param by - how that was proven, for the audit record.
   */
  async issue(owner: Address, role: 'owner' | 'agent', by: string): Promise<string> {
    if (this.rules.owners?.has(owner) === false) {
      throw new WalletError('forbidden', 'This address may not have a wallet here.');
    }
    const wallet = await this.directory.walletOf(owner);
    const seconds = role === 'owner' ? OWNER_TOKEN_SECONDS : this.rules.agentTokenSeconds;
    // Restores what was revoked, when Redis was lost.
    await this.directory.policyOf(owner, wallet);
    const notBefore = await this.book.tokensNotBefore(wallet.address);
    const { token, claims } = this.mint.issue(owner, role, seconds, notBefore);
    const at = claims.issuedAt;
    await this.journal.append({
      event: 'signed_in',
      ...{ at, owner, wallet: wallet.address, token: claims.id, role, by },
    });
    return token;
  }

  /** @throws WalletError `unauthorized`. */
  async of(authorization: string | undefined): Promise<Session> {
    const token = /^Bearer ([\w.-]+)$/i.exec(authorization ?? '')?.[1];
    if (token === undefined) throw new WalletError('unauthorized', 'missing authorization token');
    const { owner, role, id, issuedAt, expiresAt } = this.mint.read(token);
    const wallet = await this.directory.walletOf(owner);
    // Restores what was revoked, too, when Redis was lost.
    await this.directory.policyOf(owner, wallet);
    const [revoked, notBefore] = await Promise.all([
      ledgerCall('wallet_token', this.redis.exists(revokedTokenKey(id))),
      this.book.tokensNotBefore(wallet.address),
    ]);
    if (revoked === 1 || issuedAt < notBefore) throw invalidToken();
    return { owner, wallet, role, tokenId: id, expiresAt };
  }

  /** Ends one token. */
  async revoke({ owner, wallet, tokenId, expiresAt }: Session): Promise<void> {
    const at = this.now();
    const common = { at, owner, wallet: wallet.address };
    await this.journal.append({
      event: 'token_revoked',
      ...common,
      token: tokenId,
      until: expiresAt,
    });
    const life = Math.max(1, expiresAt - at);
    await ledgerCall('wallet_token', this.redis.set(revokedTokenKey(tokenId), '1', 'EX', life));
  }

  /** Ends all tokens of a wallet that were handed out before now, the asker's own too. */
  async revokeAll({ owner, wallet, tokenId }: Session): Promise<void> {
    const at = this.now();
    // Tokens of this very second are older, those made after another revocation in it too.
    const notBefore = Math.max(at, await this.book.tokensNotBefore(wallet.address)) + 1;
    const common = { at, owner, wallet: wallet.address };
    await this.journal.append({ event: 'tokens_revoked', ...common, notBefore, by: tokenId });
    await this.book.voidTokensBefore(wallet.address, notBefore);
  }
}
