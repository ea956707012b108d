import { ChainUnavailableError, RedisUnavailableError } from '../../protocol/errors.js';
import { identityOf, type PaymentIdentity } from '../../protocol/payment/identity.js';
import type { Payment } from '../../protocol/payment/payment.js';
import type { Reason } from '../../protocol/reasons.js';
import { actionOf } from '../../protocol/schemes/registry.js';
import { started } from '../../protocol/started.js';
import {
  BLANK_RECORD,
  type Look,
  type SettlementStore,
} from '../../settlement/ledger/settlement-store.js';
import { isFailure, isSoldToKey } from '../../settlement/model/settlement.js';
import type { PaymentVerifier } from './payment-verifier.js';

export type VerifyOutcome =
  { readonly isValid: true } | { readonly isValid: false; readonly reason: Reason };

const VALID: VerifyOutcome = { isValid: true };
const invalid = (reason: Reason): VerifyOutcome => ({ isValid: false, reason });

/** Answers whether a payment would be settled, and changes nothing. */
export class VerifyService {
  constructor(
    private readonly verifier: PaymentVerifier,
    private readonly store: Pick<SettlementStore, 'look'>,
  ) {}

  /** @param keyTag - tag of the idempotency key the requester would settle with, or empty. */
  async verify(payment: Payment, keyTag: string): Promise<VerifyOutcome> {
    const refusal = this.verifier.refusalByLists(payment);
    if (refusal !== undefined) return invalid(refusal);
    const identity = identityOf(payment);
    const looking = this.#look(payment, identity);
    // Most payments were never seen before: the chain is asked while the ledger is.
    const record = started(looking.then((look) => look ?? BLANK_RECORD));
    const judging = started(this.verifier.judge(payment, record));
    const look = await looking;
    try {
      const known = identity && look && (await this.#judgeKnown(payment, identity, look, keyTag));
      if (known !== undefined) return known;
      const verdict = await judging;
      return verdict.isValid ? VALID : invalid(verdict.reason);
    } catch (error) {
      if (error instanceof ChainUnavailableError) return invalid('network_unavailable');
      throw error;
    }
  }

  /** Without the ledger the chain alone decides. */
  async #look(
    { requirements, claim }: Payment,
    identity: PaymentIdentity | undefined,
  ): Promise<Look | undefined> {
    if (identity === undefined || claim.from === undefined) return undefined;
    try {
      return await this.store.look(identity, { ...requirements, payer: claim.from });
    } catch (error) {
      if (error instanceof RedisUnavailableError) return undefined;
      throw error;
    }
  }

  /** `undefined`: to be judged like a payment never seen. */
  async #judgeKnown(
    payment: Payment,
    identity: PaymentIdentity,
    { known, isWaitedFor }: Look,
    keyTag: string,
  ): Promise<VerifyOutcome | undefined> {
    if (known === undefined) return undefined;
    const match = await this.verifier.match(payment, identity, known);
    if (match.kind === 'refused') return invalid(match.reason);
    const isOnItsWay = known.state === 'broadcast' || known.isPaid;
    const isSold = known.sale.state === 'sold';
    if (match.kind === 'other_terms') {
      const isTaken = isOnItsWay || isSold || known.state === 'queued';
      return isTaken ? invalid('duplicate_settlement') : undefined;
    }
    const { isRepeatable } = actionOf(payment.claim);
    if (isSold && !isRepeatable && !isSoldToKey(known, keyTag)) {
      return invalid('duplicate_settlement');
    }
    if (isFailure(known)) return undefined;
    if (isRepeatable) return isOnItsWay ? VALID : undefined;
    const isOwn = keyTag !== '' && [known.sale.soldKeyTag, known.sale.boundKeyTag].includes(keyTag);
    if (isWaitedFor && !isOwn) return invalid('duplicate_settlement');
    // The buyer was told "pending", or its seller hung up: the chain would call it used.
    return isOnItsWay ? VALID : undefined;
  }
}
