import { Inject, Injectable } from '@nestjs/common';
import { ChainRegistry } from '../../platform/chain/chain-registry.js';
import { ChainUnavailableError, RedisUnavailableError } from '../../protocol/errors.js';
import { identityOf, type PaymentIdentity } from '../../protocol/payment/identity.js';
import type { Payment } from '../../protocol/payment/payment.js';
import type { JsonObject } from '../../protocol/payment/wire-values.js';
import type { Reason } from '../../protocol/reasons.js';
import { rulesOf } from '../../protocol/schemes/registry.js';
import type { Refusal } from '../../protocol/schemes/verdict.js';
import { started } from '../../protocol/started.js';
import { SETTLEMENT_STORE } from '../../settlement/ledger/ledger.module.js';
import {
  BLANK_RECORD,
  type Look,
  type SettlementStore,
} from '../../settlement/ledger/settlement-store.js';
import { isFailure, isSoldToKey } from '../../settlement/model/settlement.js';
import { ArchivedPayments } from '../status/archived-payments.js';
import {
  type PaidBy,
  paidBy,
  UsedAuthorizationFinder,
} from '../status/used-authorization-finder.js';
import { payerRefOf, PaymentVerifier } from './payment-verifier.js';

export type VerifyOutcome =
  | {
      readonly isValid: true;
      /** As the scheme defines it. */
      readonly extra?: JsonObject;
    }
  | {
      readonly isValid: false;
      readonly reason: Reason;
      /** Refused as used, because this transaction of another sender paid the payee exactly this amount. */
      readonly paidBy?: PaidBy;
      /** One sentence of detail beyond the reason. */
      readonly cause?: string;
    };

const VALID: VerifyOutcome = { isValid: true };
const invalid = (reason: Reason): { readonly isValid: false; readonly reason: Reason } => ({
  isValid: false,
  reason,
});

/** Answers whether a payment would be settled, and changes nothing. */
@Injectable()
export class VerifyService {
  constructor(
    @Inject(PaymentVerifier)
    private readonly verifier: Pick<
      PaymentVerifier,
      'refusalByLists' | 'verify' | 'verifyTerms' | 'match'
    >,
    @Inject(SETTLEMENT_STORE) private readonly store: Pick<SettlementStore, 'look'>,
    @Inject(ArchivedPayments) private readonly archived: Pick<ArchivedPayments, 'isOn' | 'of'>,
    @Inject(UsedAuthorizationFinder)
    private readonly finder: Pick<UsedAuthorizationFinder, 'until' | 'isUsed' | 'userOf'>,
    @Inject(ChainRegistry) private readonly chains: Pick<ChainRegistry, 'served'>,
  ) {}

  /** @param keyTag - tag of the idempotency key the requester would settle with, or empty. */
  async verify(payment: Payment, keyTag: string): Promise<VerifyOutcome> {
    const refusal = this.verifier.refusalByLists(payment);
    if (refusal !== undefined) return invalid(refusal);
    const identity = identityOf(payment);
    const looking = this.#look(payment, identity);
    // Most payments are new, so the chain is asked in parallel with the ledger.
    const record = started(looking.then((look) => look ?? BLANK_RECORD));
    const judging = started(
      this.verifier.verify(
        payment,
        record,
        async () => (await this.#look(payment, identity)) ?? BLANK_RECORD,
      ),
    );
    const look = await looking;
    try {
      const known = identity && look && (await this.#verifyKnown(payment, identity, look, keyTag));
      if (known !== undefined) return known;
      const verdict = await judging;
      if (verdict.isValid) {
        const { extra } = verdict;
        return extra === undefined ? VALID : { isValid: true, extra };
      }
      const isUnknown = look !== undefined && look.known === undefined;
      return await this.#refused(payment, isUnknown ? identity : undefined, keyTag, verdict);
    } catch (error) {
      if (error instanceof ChainUnavailableError) return invalid('network_unavailable');
      throw error;
    }
  }

  /**
   * The answer in place of a refusal if the payment is over. The chain shows a sold payment that has left the ledger as
   * used. For a used authorization the answer must say whether the payee was paid, because its buyer would pay twice.
   *
   * @param identity - given where the ledger does not have it; the archive may.
   */
  async #refused(
    payment: Payment,
    identity: PaymentIdentity | undefined,
    keyTag: string,
    { reason, cause }: Refusal,
  ): Promise<VerifyOutcome> {
    const refused = { ...invalid(reason), ...(cause !== undefined && { cause }) };
    const { finder, chains } = this;
    const chain = chains.served(payment.requirements.chainId);
    if (chain === undefined) return refused;
    const isUsed = await finder.isUsed(payment, reason, chain, finder.until());
    if (isUsed === false) return refused;
    const past = identity && (await this.#verifyArchived(payment, identity, keyTag, reason));
    if (past !== undefined) return past;
    if (isUsed === undefined) return invalid('network_unavailable');
    const paid = paidBy(await finder.userOf(payment, chain, finder.until()));
    return paid === undefined ? refused : { ...refused, paidBy: paid };
  }

  /** Without the ledger the chain alone decides. */
  async #look(payment: Payment, identity: PaymentIdentity | undefined): Promise<Look | undefined> {
    const payer = payerRefOf(payment);
    if (identity === undefined || payer === undefined) return undefined;
    try {
      return await this.store.look(identity, payer);
    } catch (error) {
      if (error instanceof RedisUnavailableError) return undefined;
      throw error;
    }
  }

  /** `undefined`: the payment is verified like a new one. */
  async #verifyKnown(
    payment: Payment,
    identity: PaymentIdentity,
    { known, isWaitedFor, acknowledgedKeyTag }: Look,
    keyTag: string,
  ): Promise<VerifyOutcome | undefined> {
    // A settle of it was answered, and the ledger lost its claim afterwards.
    const isAcknowledgedElsewhere =
      acknowledgedKeyTag !== undefined && (keyTag === '' || acknowledgedKeyTag !== keyTag);
    const { isRepeatable } = rulesOf(payment.claim);
    if (known === undefined) {
      if (!isAcknowledgedElsewhere || isRepeatable) return undefined;
      const terms = await this.verifier.verifyTerms(payment);
      return invalid(terms.isValid ? 'duplicate_settlement' : terms.reason);
    }
    const match = await this.verifier.match(payment, identity, known);
    if (match.kind === 'refused') return invalid(match.reason);
    const isOnItsWay = known.state === 'broadcast' || known.isPaid;
    const isSold = known.sale.state === 'sold';
    if (match.kind === 'other_terms') {
      const isTaken = isOnItsWay || isSold || known.state === 'queued';
      return isTaken ? invalid('duplicate_settlement') : undefined;
    }
    const isOfAnother = isSold ? !isSoldToKey(known, keyTag) : isAcknowledgedElsewhere;
    if (isOfAnother && !isRepeatable) return invalid('duplicate_settlement');
    if (isFailure(known)) return undefined;
    if (isRepeatable) return isOnItsWay ? this.#validOf(payment) : undefined;
    const isOwn = keyTag !== '' && [known.sale.soldKeyTag, known.sale.boundKeyTag].includes(keyTag);
    if (isWaitedFor && !isOwn) return invalid('duplicate_settlement');
    // The buyer got "pending", or its seller closed the connection. The chain would show the nonce as used.
    return isOnItsWay ? this.#validOf(payment) : undefined;
  }

  /** With the scheme's facts from the present state of the chain. */
  async #validOf(payment: Payment): Promise<VerifyOutcome> {
    const rules = rulesOf(payment.claim);
    const chain = this.chains.served(payment.requirements.chainId);
    if (rules.extraOf === undefined || chain === undefined) return VALID;
    const extra = await chain.withView(async (view) => rules.extraOf?.(payment.claim, view));
    return extra === undefined ? VALID : { isValid: true, extra };
  }

  /** @returns `undefined`: the refusal stays. */
  async #verifyArchived(
    payment: Payment,
    identity: PaymentIdentity,
    keyTag: string,
    reason: Reason,
  ): Promise<VerifyOutcome | undefined> {
    const { archived } = this;
    const { reasons, isRepeatable } = rulesOf(payment.claim);
    const mayBeGood = keyTag !== '' || isRepeatable;
    // Two refusals are equally good, so the archive is not asked.
    if (!archived.isOn || (reason !== reasons?.used && !mayBeGood)) return undefined;
    const past = await archived.of(payment, identity, { id: '', keyTag }, true);
    switch (past.kind) {
      case 'paid':
        return this.#validOf(payment);
      case 'sold_to_another':
        return invalid('duplicate_settlement');
      case 'refused':
        return invalid(past.reason);
      case 'away':
        return mayBeGood ? invalid('network_unavailable') : undefined;
      case 'unknown':
      case 'other_terms':
      case 'failed':
      case 'unsold':
        return undefined;
    }
  }
}
