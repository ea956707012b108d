import { Inject, Injectable } from '@nestjs/common';
import type { WalletConfig } from '../../platform/config/wallet-settings.js';
import { WalletDirectory } from '../accounts/wallet-directory.js';
import { WalletStore } from '../accounts/wallet-store.js';
import { Journal } from '../audit/journal.js';
import { RedisLock } from '../redis-lock.js';
import { type Policy, policyText, readPolicy } from '../rules/policy.js';
import { unitOf } from '../rules/unit.js';
import type { Session } from '../session.js';
import { WalletError } from '../wallet-error.js';
import { WALLET_CLOCK, WALLET_SETTINGS, type WalletClock } from '../wallet-tokens.js';

/** Changes of rules: asked for, set, and in force once the journal has that. */
@Injectable()
export class PolicyService {
  constructor(
    private readonly directory: WalletDirectory,
    private readonly store: WalletStore,
    private readonly journal: Journal,
    private readonly locks: RedisLock,
    @Inject(WALLET_SETTINGS) private readonly settings: Pick<WalletConfig, 'assets'>,
    @Inject(WALLET_CLOCK) private readonly now: WalletClock,
  ) {}

  /**
   * @throws WalletError `invalid_request` saying what is wrong with the rules, `conflict` where they were
   * made from others than those in force: a wallet that was stopped meanwhile stays stopped.
   */
  replace(session: Session, sent: unknown): Promise<void> {
    return this.#change(session, ({ revision }) => {
      const read = readPolicy(
        sent,
        revision + 1,
        (asset) => unitOf(this.settings.assets, asset).decimals,
      );
      const basis = (sent as { readonly revision?: number } | null)?.revision ?? revision;
      if (read.ok && basis !== revision) {
        throw new WalletError(
          'conflict',
          `These rules were made from revision ${basis}; revision ${revision} is in force. Read them again.`,
        );
      }
      if (read.ok) return read.policy;
      throw new WalletError('invalid_request', read.problem);
    });
  }

  /** The kill switch. */
  stop(session: Session): Promise<void> {
    return this.#change(session, (policy) => ({
      ...policy,
      revision: policy.revision + 1,
      active: false,
    }));
  }

  async #change(session: Session, next: (policy: Policy) => Policy): Promise<void> {
    const { owner, wallet, tokenId } = session;
    await this.locks.hold(`policy:${wallet.address}`, async () => {
      const policy = next(await this.directory.policyOf(owner, wallet));
      await this.journal.append({
        event: 'policy_set',
        at: this.now(),
        owner,
        wallet: wallet.address,
        revision: policy.revision,
        policy: policyText(policy),
        by: tokenId,
      });
      const record = await this.store.replaceRules(wallet.address, policy);
      const isInForce =
        record !== undefined &&
        (await this.directory.putInForce(owner, wallet.address, { policy, record }));
      if (isInForce) return;
      throw new WalletError('unavailable', 'The rules changed meanwhile. Send them again.');
    });
  }
}
