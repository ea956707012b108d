import { Inject, Injectable } from '@nestjs/common';
import type { WalletConfig } from '../../platform/config/wallet-settings.js';
import type { Rate, RateLimiter } from '../../platform/rate-limit/rate-limiter.js';
import { WalletLimiter } from '../accounts/new-wallets.js';
import { WalletDirectory } from '../accounts/wallet-directory.js';
import { WalletStore } from '../accounts/wallet-store.js';
import { Journal } from '../audit/journal.js';
import { RedisLock } from '../redis-lock.js';
import { type Policy, policyText, readPolicy } from '../rules/policy.js';
import { unitOf } from '../rules/unit.js';
import type { Session } from '../session.js';
import { WalletError } from '../wallet-error.js';
import { WALLET_CLOCK, WALLET_SETTINGS, type WalletClock } from '../wallet-tokens.js';

const MIB = 1_048_576;
/** Bytes of rules for one wallet: the journal keeps each change for good, twice, and anybody may be an owner. */
const CHANGES: Rate = { requests: MIB, seconds: 3600, burst: 2 * MIB };

/** Changes of rules: requested, stored, and in force once the journal has them. */
@Injectable()
export class PolicyService {
  constructor(
    private readonly directory: WalletDirectory,
    private readonly store: WalletStore,
    private readonly journal: Journal,
    private readonly locks: RedisLock,
    @Inject(WalletLimiter) private readonly limiter: Pick<RateLimiter, 'take'>,
    @Inject(WALLET_SETTINGS) private readonly settings: Pick<WalletConfig, 'assets'>,
    @Inject(WALLET_CLOCK) private readonly now: WalletClock,
  ) {}

  /**
   * @throws WalletError `invalid_request` with the fault in the rules; `conflict` if they are based on rules that are
   *   no longer in force, so that a stopped wallet stays stopped; `rate_limited` for too many changes.
   */
  replace(session: Session, sent: unknown): Promise<void> {
    return this.#change(session, 'rules', ({ revision }) => {
      const read = readPolicy(
        sent,
        revision + 1,
        (asset) => unitOf(this.settings.assets, asset).decimals,
      );
      const basis = (sent as { readonly revision?: number } | null)?.revision ?? revision;
      if (read.ok && basis !== revision) {
        throw new WalletError(
          'conflict',
          `These rules are based on revision ${basis}; revision ${revision} is in force. Read the rules again, then send your change.`,
        );
      }
      if (read.ok) return read.policy;
      throw new WalletError('invalid_request', read.problem, { place: read.place });
    });
  }

  /**
   * The kill switch.
   *
   * @throws WalletError `rate_limited` for a wallet that is stopped already, after too many changes.
   */
  stop(session: Session): Promise<void> {
    return this.#change(session, 'stops', (policy) => ({
      ...policy,
      revision: policy.revision + 1,
      active: false,
    }));
  }

  /** @param budget - any token can stop, so its stops must not use up the changes of the owner. */
  async #change(
    session: Session,
    budget: 'rules' | 'stops',
    next: (policy: Policy) => Policy,
  ): Promise<void> {
    const { owner, wallet, tokenId } = session;
    await this.locks.hold(`policy:${wallet.address}`, async () => {
      const before = await this.directory.policyOf(owner, wallet);
      const policy = next(before);
      const written = policyText(policy);
      // Whatever came before, an active wallet can be stopped.
      if (policy.active || !before.active) {
        await this.#count(`${budget}:${wallet.address}`, written);
      }
      await this.journal.append({
        event: 'policy_set',
        at: this.now(),
        owner,
        wallet: wallet.address,
        revision: policy.revision,
        policy: written,
        by: tokenId,
      });
      const record = await this.store.replaceRules(wallet.address, policy);
      const isInForce =
        record !== undefined &&
        (await this.directory.putInForce(owner, wallet.address, { policy, record }));
      if (isInForce) return;
      throw new WalletError(
        'unavailable',
        'The rules changed meanwhile. Read the rules again, then send your change.',
      );
    });
  }

  async #count(name: string, written: object): Promise<void> {
    const bytes = 2 * JSON.stringify(written).length;
    const verdict = await this.limiter.take(name, CHANGES, bytes);
    if (verdict.isAllowed) return;
    throw new WalletError('rate_limited', 'The rules were changed too often. Try again later.', {
      retryAfterSeconds: verdict.retryAfterSeconds,
    });
  }
}
