import { Inject, Injectable } from '@nestjs/common';
import { formatUnits } from 'viem';
import { WalletDirectory } from '../accounts/wallet-directory.js';
import { Journal } from '../audit/journal.js';
import { storedSpending } from '../budget/due.js';
import {
  type ChargeState,
  type Reservation,
  type ReserveResult,
  SpendingStore,
} from '../budget/spending-store.js';
import { type AskRule, type Charge, evaluate, type Refusal, STOPPED } from '../rules/evaluate.js';
import type { Policy } from '../rules/policy.js';
import type { Signable, Spending } from '../rules/spending.js';
import type { Session } from '../session.js';
import { WalletError } from '../wallet-error.js';
import { type SigningKind, WalletObserver } from '../wallet-observer.js';
import { WALLET_CLOCK, type WalletClock } from '../wallet-tokens.js';

/** The rules can change, or Redis be lost, between reading and charging; then the step is repeated. */
const ATTEMPTS = 4;

export interface SigningRequest {
  readonly signable: Signable;
  /** For the audit record: the method, never its content. */
  readonly what: SigningKind;
  /**
   * EIP-712 digest, or the hash of another message. It may be computed at its first access, which is after the rules
   * have allowed it, so a refusal costs no hash.
   */
  readonly digest: string;
  /** The intent a payment belongs to; see {@link Reservation}. */
  readonly intent?: Reservation['intent'];
  /** The owner's approval of this payment, which the charge uses up. */
  readonly approval?: Approval;
}

export interface Approval {
  /** The request that was approved. */
  readonly ask: string;
  /** The rules that required the approval; `charged`: this charge used it before, whatever the present rules are. */
  readonly revision: number | 'charged';
}

export type Authorized =
  /** Charged and recorded, so it may be signed. */
  | {
      readonly kind: 'charged';
      readonly spending: Spending;
      /** It was charged before, so an earlier attempt may have reached any step. */
      readonly isRepeat: boolean;
      /** The journal records that it was signed. */
      readonly isSigned: boolean;
    }
  | { readonly kind: 'uncharged' }
  /** Another call was first with this intent. */
  | { readonly kind: 'intent_exists'; readonly record: string }
  /** The rules allow it only with the owner's approval; nothing was charged. */
  | NeedsOwner;

export interface NeedsOwner {
  readonly kind: 'needs_owner';
  readonly rule: AskRule;
  /** The revision of the rules that require it. */
  readonly revision: number;
}

/** A spending that the rules allow, with the budgets to charge and the approval it needs. */
interface EvaluatedCharge {
  readonly spending: Spending;
  readonly charges: readonly Charge[];
  readonly approved: string | undefined;
}

/**
 * The guard of every signature: rules, budget, journal, and a last check that the charge still exists. Nothing is
 * signed without passing it.
 */
@Injectable()
export class Authorizer {
  constructor(
    private readonly directory: WalletDirectory,
    private readonly store: SpendingStore,
    private readonly journal: Journal,
    @Inject(WalletObserver) private readonly observer: WalletObserver,
    @Inject(WALLET_CLOCK) private readonly now: WalletClock,
  ) {}

  /**
   * @throws WalletError `policy_violation` naming the rule; nothing was charged.
   * @throws RedisUnavailableError, WalletStorageError: it may be charged, and nothing is signed.
   */
  async authorize(session: Session, kind: SigningRequest): Promise<Authorized> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      const policy = await this.directory.policyInForce(session.owner, session.wallet);
      const decision = evaluate(kind.signable, policy, this.now());
      if (!decision.allowed) return this.#refuse(session, kind, decision.refusal);
      if (decision.spending === undefined) {
        await this.#record(session, kind, decision.scope);
        this.observer.decided({ what: kind.what });
        return { kind: 'uncharged' };
      }
      const { spending, charges, ask } = decision;
      if (ask !== undefined && !isAnswered(kind, policy)) {
        return this.#askOwner(session, kind, { rule: ask, revision: policy.revision });
      }
      // A payment that needs no approval does not use one up.
      const approved = ask === undefined ? undefined : kind.approval?.ask;
      const charge = { spending, charges, approved };
      const result = await this.#reserve(session, kind, policy, charge);
      switch (result.kind) {
        case 'reserved':
        case 'known':
          if (await this.#settleCharge(session, kind, charge, result)) {
            const isRepeat = result.kind === 'known';
            this.observer.decided({ what: kind.what });
            if (!isRepeat) this.observer.counted({ step: 'reserved', spending });
            return { kind: 'charged', spending, isRepeat, isSigned: result.isSigned };
          }
          break;
        case 'intent_exists':
          return result;
        case 'unapproved':
          if (ask === undefined) break;
          return this.#askOwner(session, kind, { rule: ask, revision: policy.revision });
        case 'over_budget':
        case 'reused':
        case 'too_many':
          return this.#refuse(session, kind, refusalOf(result, kind, policy));
        case 'locked':
        case 'policy_changed':
      }
    }
    throw new WalletError('unavailable', 'The wallet is being restored. Try again.');
  }

  /**
   * For a message of this service that moves no money: it needs no scope and charges nothing. A message that changes
   * something at another service is in the journal first, and is not signed for a stopped wallet.
   *
   * @throws WalletError `policy_violation` for a stopped wallet.
   */
  async admit(
    session: Session,
    { what, digest, isReading }: { what: SigningKind; digest: string; isReading: boolean },
  ): Promise<void> {
    const { active } = await this.directory.policyInForce(session.owner, session.wallet);
    if (isReading) return;
    if (!active) await this.#refuse(session, { what }, STOPPED);
    await this.#record(session, { what, digest }, 'hub');
    this.observer.decided({ what });
  }

  /** @throws WalletError `policy_violation` when the owner has stopped the wallet. */
  async assertActive({ owner, wallet }: Session): Promise<void> {
    const { active } = await this.directory.policyOf(owner, wallet);
    if (!active) throw WalletError.refused(STOPPED);
  }

  /** Records once that a spending was signed: first on disk, then in Redis. */
  async noteSigned({ owner, wallet }: Session, spending: Spending): Promise<void> {
    const { id, deadline } = spending;
    const common = { at: this.now(), owner, wallet: wallet.address, spending: id, deadline };
    await this.journal.append({ event: 'signed', ...common });
    await this.store.markSigned(wallet.address, spending);
  }

  #reserve(
    { wallet }: Session,
    { intent }: SigningRequest,
    { revision, windowHours }: Policy,
    { spending, charges, approved }: EvaluatedCharge,
  ): Promise<ReserveResult> {
    return this.store.reserve({
      wallet: wallet.address,
      revision,
      spending,
      charges,
      windowSeconds: windowHours * 3600,
      now: this.now(),
      ...(intent !== undefined && { intent }),
      ...(approved !== undefined && { ask: approved }),
    });
  }

  /** Outside a purchase there is no payment to show to an owner. */
  async #askOwner(
    session: Session,
    kind: SigningRequest,
    { rule, revision }: Omit<NeedsOwner, 'kind'>,
  ): Promise<NeedsOwner> {
    if (kind.intent !== undefined) return { kind: 'needs_owner', rule, revision };
    return this.#refuse(session, kind, askRefusal(rule, decimalsOf(kind.signable)));
  }

  /**
   * On disk before it is signed. The charge is checked in the generation of Redis it was made in: charges that were
   * made elsewhere after a loss were not compared with it.
   */
  async #settleCharge(
    { owner, wallet, tokenId }: Session,
    { digest, intent }: SigningRequest,
    { spending, approved }: EvaluatedCharge,
    { isJournaled, generation }: ChargeState,
  ): Promise<boolean> {
    if (!isJournaled) {
      await this.journal.append({
        event: 'reserved',
        at: this.now(),
        owner,
        wallet: wallet.address,
        token: tokenId,
        spending: storedSpending(spending),
        digest,
        ...(intent !== undefined && { intent: { id: intent.id, record: intent.record } }),
        ...(approved !== undefined && { ask: approved }),
      });
    }
    return this.store.confirm(wallet.address, spending.id, generation);
  }

  async #refuse(
    { owner, wallet, tokenId }: Session,
    { what }: Pick<SigningRequest, 'what'>,
    refusal: Refusal,
  ): Promise<never> {
    const { rule } = refusal;
    const common = { at: this.now(), owner, wallet: wallet.address, token: tokenId };
    this.observer.decided({ what, rule });
    await this.journal.append({ event: 'refused', ...common, what, rule });
    throw WalletError.refused(refusal);
  }

  async #record(
    { owner, wallet, tokenId }: Session,
    { what, digest }: Pick<SigningRequest, 'what' | 'digest'>,
    scope: string,
  ): Promise<void> {
    const common = { at: this.now(), owner, wallet: wallet.address, token: tokenId };
    await this.journal.append({ event: 'allowed', ...common, what, scope, digest });
  }
}

/** An approval is valid for the revision of the rules that required it. */
function isAnswered({ approval }: SigningRequest, { revision }: Policy): boolean {
  return approval?.revision === 'charged' || approval?.revision === revision;
}

/** The refusal where the owner would have to be asked, and is not. */
export function askRefusal({ list, askAbove }: AskRule, decimals: number): Refusal {
  const where = list === undefined ? '' : ` to payees of "${list}"`;
  return {
    rule: 'ask_above',
    message: `Payments${where} above ${formatUnits(askAbove, decimals)} need the approval of the owner. Only payment_pay asks for the approval.`,
  };
}

function refusalOf(
  result: Extract<ReserveResult, { kind: 'over_budget' | 'reused' | 'too_many' }>,
  { signable }: SigningRequest,
  { windowHours }: Policy,
): Refusal {
  if (result.kind === 'reused') {
    return {
      rule: 'nonce_reused',
      message: 'This nonce was used for another payment, or for a payment that has ended.',
    };
  }
  if (result.kind === 'too_many') {
    return {
      rule: 'too_many_payments',
      message: 'The rules allow no more payments in this window.',
    };
  }
  const { charge, spent } = result;
  const decimals = decimalsOf(signable);
  const left = charge.budget > spent ? charge.budget - spent : 0n;
  const which = charge.list === undefined ? 'the budget' : `the budget for "${charge.list}"`;
  return {
    rule: 'budget',
    message: `The amount is above what is left of ${which}: ${formatUnits(left, decimals)} of ${formatUnits(charge.budget, decimals)} in ${windowHours} hours.`,
  };
}

function decimalsOf(signable: Signable): number {
  const isToken = signable.kind === 'payment' || signable.kind === 'transfer';
  return (isToken ? signable.token?.decimals : undefined) ?? 18;
}
