import { Inject, Injectable } from '@nestjs/common';
import type { Redis } from 'ioredis';
import type { Address } from 'viem';
import { delay } from '../../platform/concurrency/timing.js';
import type { WalletConfig } from '../../platform/config/wallet-settings.js';
import { WALLET_REDIS } from '../../platform/redis/redis.module.js';
import { redisCall, runTransaction } from '../../platform/redis/redis-scripts.js';
import { WalletDirectory } from '../accounts/wallet-directory.js';
import { WalletStore } from '../accounts/wallet-store.js';
import { Journal } from '../audit/journal.js';
import type { IssuedToken } from '../audit/journal-state.js';
import { tokenFamily } from '../hub/link-family.js';
import type { WalletHub } from '../hub/wallet-hub.js';
import type { CustodialWallet } from '../provider/wallet-provider.js';
import type { Session } from '../session.js';
import { WalletError } from '../wallet-error.js';
import { revokedTokenKey } from '../wallet-keys.js';
import { WALLET_CLOCK, WALLET_HUB, WALLET_SETTINGS, type WalletClock } from '../wallet-tokens.js';
import { IssuedTokens } from './issued-tokens.js';
import { invalidToken, TokenIssuer } from './token.js';

/** Long enough to change rules with care, and short enough if it leaks. */
const OWNER_TOKEN_SECONDS = 900;
const SECOND_MS = 1000;

/** How a caller has proven to be an owner, or to act for one. */
interface Proof {
  /** For the audit record. */
  readonly by: 'nonce' | 'approval' | 'legacy' | 'oauth';
  /** For a signed message: the time of its request, Unix seconds. */
  readonly askedAt?: number;
  /** For an approval: {@link Sessions.epochOf} at that time. */
  readonly epoch?: number;
  /** For an approval: the user code that the owner has seen. */
  readonly code?: string;
}

/** The fields of a grant that decide whether its tokens are valid. */
interface GrantFacts {
  readonly id: string;
  readonly owner: Address;
  /** {@link Sessions.epochOf} when the grant was given. */
  readonly epoch: number;
  /** Unix seconds. */
  readonly expiresAt: number;
}

/** The object that is revoked: a token, or a grant. */
type Revoked = Pick<Session, 'owner' | 'wallet' | 'tokenId' | 'expiresAt'>;

/** Issues, finds and revokes tokens. */
@Injectable()
export class Sessions {
  constructor(
    private readonly mint: TokenIssuer,
    private readonly directory: WalletDirectory,
    private readonly store: WalletStore,
    private readonly journal: Journal,
    @Inject(WALLET_REDIS) private readonly redis: Redis,
    private readonly issued: IssuedTokens,
    @Inject(WALLET_HUB) private readonly hub: WalletHub | undefined,
    @Inject(WALLET_SETTINGS)
    private readonly settings: Pick<WalletConfig, 'tokenTtlSeconds' | 'owners'>,
    @Inject(WALLET_CLOCK) private readonly now: WalletClock,
  ) {}

  /**
   * Called before a step that would make a wallet: checks that its owner may have one, and makes it.
   *
   * @param address - the network address of the caller.
   * @throws WalletError `forbidden`, or as {@link WalletDirectory.walletFor}.
   */
  async prepare(owner: Address, address: string | undefined): Promise<void> {
    this.#assertMay(owner);
    await this.directory.walletFor(owner, address);
  }

  /** Whether an address is an owner with a wallet. */
  async knows(owner: Address): Promise<boolean> {
    return (await this.directory.find(owner)) !== undefined;
  }

  /**
   * A token for a caller who has proven to be the owner, or to act for the owner. Signing in makes no wallet; the first
   * use of the token, the first agent or the first grant does.
   *
   * @throws WalletError `unauthorized`, or `not_found` for a code, for a proof older than a revocation of all tokens.
   */
  async issue(owner: Address, role: 'owner' | 'agent', proof: Proof): Promise<string> {
    this.#assertMay(owner);
    const wallet = await this.directory[role === 'owner' ? 'find' : 'walletOf'](owner);
    const notBefore = wallet === undefined ? 0 : await this.#notBefore(owner, wallet);
    assertSince(proof, notBefore);
    const seconds = role === 'owner' ? OWNER_TOKEN_SECONDS : this.settings.tokenTtlSeconds;
    const how = { by: proof.by, ...(proof.code !== undefined && { code: proof.code }) };
    const { token, claims } = await this.mint.issue(owner, role, seconds, notBefore);
    const { id, issuedAt, expiresAt } = claims;
    const issued = { id, role, ...how, createdAt: issuedAt, expiresAt };
    if (wallet !== undefined) await this.#record(owner, wallet, issued);
    return token;
  }

  /** Written to the journal first. */
  async #record(owner: Address, wallet: CustodialWallet, issued: IssuedToken): Promise<void> {
    const { id: token, createdAt: at, expiresAt: until, ...how } = issued;
    const common = { at, owner, wallet: wallet.address };
    await this.journal.append({ event: 'signed_in', ...common, token, until, ...how });
    await this.issued.note(wallet.address, [issued]);
  }

  /**
   * Accepts a client under a grant, whose tokens are made and stored elsewhere.
   *
   * @returns the epoch in which its tokens are valid: see {@link ofGrant}.
   * @throws WalletError as {@link issue}.
   */
  async grant(owner: Address, grantId: string, proof: Proof): Promise<number> {
    this.#assertMay(owner);
    const wallet = await this.directory.walletOf(owner);
    const notBefore = await this.#notBefore(owner, wallet);
    assertSince(proof, notBefore);
    await this.journal.append({
      event: 'signed_in',
      at: this.now(),
      owner,
      wallet: wallet.address,
      token: grantId,
      role: 'agent',
      by: proof.by,
    });
    return notBefore;
  }

  /** @throws WalletError `unauthorized` when the grant or all tokens of the wallet were revoked. */
  async ofGrant({ id, owner, epoch, expiresAt }: GrantFacts): Promise<Session> {
    if (this.settings.owners?.has(owner) === false) throw invalidToken();
    const wallet = await this.directory.walletOf(owner);
    const { isRevoked, notBefore } = await this.#revocations(owner, wallet, id);
    if (isRevoked || notBefore !== epoch) throw invalidToken();
    await this.issued.noteUse(id, expiresAt);
    return { owner, wallet, role: 'agent', tokenId: id, expiresAt, generation: epoch };
  }

  #assertMay(owner: Address): void {
    if (this.settings.owners?.has(owner) !== false) return;
    throw new WalletError('forbidden', 'This service does not allow a wallet for this address.');
  }

  async #notBefore(owner: Address, wallet: CustodialWallet): Promise<number> {
    // Restores the revocations after a loss of Redis.
    await this.directory.policyOf(owner, wallet);
    return this.store.tokensNotBefore(wallet.address);
  }

  /** The number of the last revocation of all tokens of this owner; 0 for none, or without a wallet. */
  async epochOf(owner: Address): Promise<number> {
    const wallet = await this.directory.find(owner);
    return wallet === undefined ? 0 : this.#notBefore(owner, wallet);
  }

  /**
   * @param address - the network address of the caller.
   * @throws WalletError `unauthorized`; for a new owner as {@link prepare}.
   */
  async of(authorization: string | undefined, address: string | undefined): Promise<Session> {
    const token = /^Bearer ([\w.-]+)$/i.exec(authorization ?? '')?.[1];
    if (token === undefined) throw new WalletError('unauthorized', 'missing authorization token');
    const { owner, role, id, issuedAt, expiresAt } = await this.mint.read(token);
    const found = await this.directory.find(owner);
    const wallet = found ?? (await this.directory.walletFor(owner, address));
    const { isRevoked, notBefore } = await this.#revocations(owner, wallet, id);
    if (isRevoked || issuedAt < notBefore) throw invalidToken();
    // An owner who signed in before there was a wallet is recorded from here on.
    if (found === undefined && role === 'owner') {
      await this.#record(owner, wallet, { id, role, by: 'nonce', createdAt: issuedAt, expiresAt });
    }
    await this.issued.noteUse(id, expiresAt);
    return { owner, wallet, role, tokenId: id, expiresAt, generation: notBefore };
  }

  async #revocations(
    owner: Address,
    wallet: CustodialWallet,
    id: string,
  ): Promise<{ readonly isRevoked: boolean; readonly notBefore: number }> {
    // Also restores the revocations after a loss of Redis.
    await this.directory.policyOf(owner, wallet);
    const [revoked, notBefore] = await Promise.all([
      redisCall('wallet_token', this.redis.exists(revokedTokenKey(id))),
      this.store.tokensNotBefore(wallet.address),
    ]);
    return { isRevoked: revoked === 1, notBefore };
  }

  /** Revokes one token, or a grant with all its tokens, and the links made with it. */
  async revoke({ owner, wallet, tokenId, expiresAt }: Revoked): Promise<void> {
    const { redis, store } = this;
    const links = this.hub?.links;
    const at = this.now();
    const common = { at, owner, wallet: wallet.address };
    await this.journal.append({
      event: 'token_revoked',
      ...common,
      token: tokenId,
      until: expiresAt,
    });
    const life = Math.max(1, expiresAt - at);
    const step = redis.multi().set(revokedTokenKey(tokenId), '1', 'EX', life);
    const generation = await store.tokensNotBefore(wallet.address);
    links?.note(step, owner, tokenFamily({ generation, tokenId }));
    await runTransaction('wallet_token', step);
    await this.issued.remove(wallet.address, tokenId);
    await links?.endNow();
  }

  /** Revokes all earlier tokens of a wallet, including the caller's own, and their links. */
  async revokeAll({ owner, wallet, tokenId }: Session): Promise<void> {
    const last = await this.store.tokensNotBefore(wallet.address);
    // One revocation a second, so that a later sign-in never looks older than it.
    if (last - this.now() === 1) await delay(SECOND_MS);
    const at = this.now();
    // Tokens of the present second count as older.
    const notBefore = Math.max(at, last) + 1;
    const common = { at, owner, wallet: wallet.address };
    await this.journal.append({ event: 'tokens_revoked', ...common, notBefore, by: tokenId });
    const links = this.hub?.links;
    const ended = { owner, generation: last, isNoted: links !== undefined };
    await this.store.voidTokensBefore(wallet.address, notBefore, { ...ended, at });
    const issued = await this.issued.of(wallet.address);
    for (const { id, createdAt } of issued) {
      if (createdAt < notBefore) await this.issued.remove(wallet.address, id);
    }
    await links?.endNow();
  }
}

/**
 * @param notBefore - Unix seconds after the last revocation of all tokens. A request in the same
 *   second may have come after it.
 */
export function assertSince({ askedAt, epoch }: Omit<Proof, 'by'>, notBefore: number): void {
  if (askedAt !== undefined && askedAt < notBefore - 1) {
    throw new WalletError('unauthorized', 'All tokens of this wallet were revoked. Sign in again.');
  }
  if (epoch !== undefined && epoch !== notBefore) {
    throw new WalletError('not_found', 'This code does not exist, or it has expired.');
  }
}
