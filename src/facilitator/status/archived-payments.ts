import { Inject, Injectable } from '@nestjs/common';
import type { PaymentIdentity } from '../../protocol/payment/identity.js';
import type { Payment } from '../../protocol/payment/payment.js';
import type { Reason } from '../../protocol/reasons.js';
import { rulesOf } from '../../protocol/schemes/registry.js';
import { type BoundPayment, isOfPayment } from '../../settlement/ledger/binding.js';
import {
  type ArchivedSettlement,
  SETTLEMENT_ARCHIVE,
  type SettlementArchive,
} from '../../settlement/ledger/settlement-archive.js';
import { isSoldToKey, type SettlementView } from '../../settlement/model/settlement.js';
import { PaymentVerifier } from '../verify/payment-verifier.js';

/** The outcome of a payment that the ledger does not know, for one requester. */
export type ArchivedPayment =
  /**
   * - `other_terms`: another payment or action with the same authorization was done, and sold to no requester.
   * - `away`: the archive does not answer.
   */
  | { readonly kind: 'unknown' | 'other_terms' | 'away' }
  /** The payer did not sign it, or did not sign it for these requirements. */
  | { readonly kind: 'refused'; readonly reason: Reason }
  /** It was sold to another requester; without a settlement it is another payment with the same authorization. */
  | { readonly kind: 'sold_to_another'; readonly view: SettlementView | undefined }
  | { readonly kind: 'failed'; readonly view: SettlementView }
  /** It was paid, and this requester has the sale or may get it. */
  | { readonly kind: 'paid'; readonly view: SettlementView }
  /** It was paid, and the archive has no sale. The archive may lack the newest sale, so it sells nothing. */
  | { readonly kind: 'unsold'; readonly view: SettlementView };

/** The requester of an archived answer. */
interface ArchiveRequester {
  /** Empty where the requester has none. */
  readonly id: string;
  /** Empty without an idempotency key. */
  readonly keyTag: string;
}

/**
 * Answers from the archive about payments that have left the ledger. It is asked only about payments that cannot be
 * new: the authorization is used, the deadline has passed, or the idempotency key belongs to such a payment.
 */
@Injectable()
export class ArchivedPayments {
  constructor(
    @Inject(SETTLEMENT_ARCHIVE) private readonly archive: SettlementArchive,
    @Inject(PaymentVerifier)
    private readonly verifier: Pick<PaymentVerifier, 'match' | 'verifyTerms'>,
  ) {}

  get isOn(): boolean {
    return this.archive.isOn;
  }

  /**
   * @param isUsed - whether the chain shows the authorization as used.
   * @throws ChainUnavailableError when a signature must be checked on chain and the chain does not answer.
   */
  async of(
    payment: Payment,
    identity: PaymentIdentity,
    requester: ArchiveRequester,
    isUsed: boolean,
  ): Promise<ArchivedPayment> {
    const { chainId, amount } = payment.requirements;
    const answer = await this.archive.find({
      by: 'authorization',
      chainId,
      authorizationIds: [identity.authorizationId],
    });
    if (answer.kind === 'away') return { kind: 'away' };
    const view = answer.settlements.find((one) => counts(one, isUsed))?.view;
    if (view === undefined) return { kind: 'unknown' };
    const match = await this.verifier.match(payment, identity, view);
    if (match.kind === 'refused') return match;
    const isSold = view.sale.state === 'sold';
    if (match.kind === 'other_terms') {
      if (isSold) return { kind: 'sold_to_another', view: undefined };
      return { kind: view.isPaid ? 'other_terms' : 'unknown' };
    }
    const { isRepeatable } = rulesOf(payment.claim);
    const isOwn =
      isSoldToKey(view, requester.keyTag) || (isSold && view.sale.requester === requester.id);
    if (isSold && !isRepeatable && !isOwn) return { kind: 'sold_to_another', view };
    if (!view.isPaid) return { kind: 'failed', view };
    // The first settle has bound the amount. This request would pay for other goods.
    const isOtherAmount = view.settledAmount !== undefined && view.settledAmount !== amount;
    if (isOtherAmount) return { kind: 'sold_to_another', view };
    return isOwn || isRepeatable ? { kind: 'paid', view } : { kind: 'unsold', view };
  }

  /** Whether the archive has any claim of an authorization. */
  async hasClaim({
    chainId,
    authorizationId,
  }: Pick<BoundPayment, 'chainId' | 'authorizationId'>): Promise<'yes' | 'no' | 'away'> {
    if (!this.isOn) return 'no';
    const answer = await this.archive.find({
      by: 'authorization',
      chainId,
      authorizationIds: [authorizationId],
    });
    if (answer.kind === 'away') return 'away';
    return answer.settlements.length > 0 ? 'yes' : 'no';
  }

  /**
   * Whether a key that the ledger does not have belongs to another payment. A caller without a payment of its own gets
   * no answer about a key.
   *
   * @throws ChainUnavailableError
   */
  async isKeyOfAnother(
    keyTag: string,
    payment: Payment,
    identity: PaymentIdentity,
  ): Promise<boolean> {
    if (keyTag === '' || !this.isOn) return false;
    const answer = await this.archive.find({ by: 'key', keyTag });
    if (answer.kind === 'away' || answer.settlements.length === 0) return false;
    const isOfThis = answer.settlements.some(({ view, authorizationId, chainId }) =>
      isOfPayment(
        { chainId, authorizationId, termsTag: view.termsTag },
        payment.requirements.chainId,
        identity,
      ),
    );
    return !isOfThis && (await this.verifier.verifyTerms(payment)).isValid;
  }
}

/** A row that is still in flight was lost from the ledger; the chain has its outcome. */
function counts({ view: { state, isPaid } }: ArchivedSettlement, isUsed: boolean): boolean {
  return isUsed ? state === 'finalized' || state === 'foreign' : state === 'expired' && !isPaid;
}
