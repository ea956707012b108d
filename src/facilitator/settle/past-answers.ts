import { Inject, Injectable } from '@nestjs/common';
import type { Hex } from 'viem';
import { actionOf } from '../../protocol/schemes/registry.js';
import type { ClaimRef } from '../../settlement/ledger/settlement-store.js';
import { type ArchivedPayment, ArchivedPayments } from '../status/archived-payments.js';
import {
  paidBy,
  refOfPayment,
  UsedAuthorizationFinder,
} from '../status/used-authorization-finder.js';
import { AcknowledgedAnswers } from './acknowledged-answers.js';
import { LostClaims } from './lost-claims.js';
import type { SettleAnswer } from './settle-answer.js';
import type { SettleContext } from './settle-context.js';

/** The ledger's answer about a request that was then refused. */
interface LedgerAnswer {
  /** Whether it knows the idempotency key, with any binding. */
  readonly isKeyKnown: boolean;
  /** A claim that the request made or joined, and that the ledger no longer has. */
  readonly lost: ClaimRef | undefined;
}

/** The answer that the archive gives in place of a refusal. */
type FromArchive =
  | { readonly kind: 'answer'; readonly answer: SettleAnswer }
  /** @property transaction - the one that paid, where it is known. */
  | { readonly kind: 'nothing'; readonly transaction?: Hex | undefined }
  | { readonly kind: 'other_terms' | 'away' };

const NOTHING: FromArchive = { kind: 'nothing' };

/**
 * Answers a payment that is refused because its authorization is used or its deadline has passed. The cause may be a
 * settlement of this facilitator that has left the ledger or was lost with it.
 */
@Injectable()
export class PastAnswers {
  constructor(
    @Inject(UsedAuthorizationFinder)
    private readonly finder: Pick<UsedAuthorizationFinder, 'until' | 'isUsed' | 'userOf'>,
    @Inject(ArchivedPayments)
    private readonly archived: Pick<ArchivedPayments, 'isOn' | 'of' | 'isKeyOfAnother'>,
    @Inject(LostClaims) private readonly lostClaims: Pick<LostClaims, 'adopt'>,
    private readonly acknowledged: AcknowledgedAnswers,
  ) {}

  /** @returns the answer in place of a refusal; any other answer is returned unchanged. */
  async insteadOf(
    refused: SettleAnswer | undefined,
    context: SettleContext,
    { isKeyKnown, lost }: LedgerAnswer,
  ): Promise<SettleAnswer | undefined> {
    const { request, answers, chain, deadlineAt } = context;
    const reason = refused?.body.errorReason;
    if (reason === undefined || refused?.body.transaction !== '') return refused;
    const { finder } = this;
    const { reasons, isRepeatable } = actionOf(request.payment.claim);
    const until = finder.until(deadlineAt());
    const isUsed = await finder.isUsed(request.payment, reason, chain, until);
    if (isUsed === false && reason !== reasons.expired) return refused;
    const past = await this.#fromArchive(
      context,
      isUsed !== false || isRepeatable === true,
      isKeyKnown,
    );
    if (past.kind === 'answer') return past.answer;
    if (isUsed === false) return refused;
    // It is unknown whether the payee was paid, so neither the refusal nor its advice would be true.
    if (isUsed === undefined) return answers.failure('network_unavailable');
    const use = await finder.userOf(request.payment, chain, until);
    const adopted = lost && (await this.#adopt(context, lost, use?.transaction));
    if (adopted !== undefined) return adopted;
    // The payment may be sold to this key, or repeatable and done. Without the archive neither can be excluded.
    const mayBeSuccess = request.keyTag !== '' || isRepeatable;
    if (past.kind === 'away' && mayBeSuccess) return answers.failure('network_unavailable');
    const transaction =
      use?.transaction ?? (past.kind === 'nothing' ? past.transaction : undefined);
    const answer = answers.failure(reasons.used, transaction);
    const paid = paidBy(use);
    return paid === undefined ? answer : { ...answer, paidBy: paid };
  }

  /**
   * Of an action that is done, though no claim in the ledger did it: the answer of the archived settlement that did it.
   *
   * @param ofAnother - the answer where the archive has another action with the same authorization; absent where it is
   *   certain that this action was done.
   */
  async ofDone(
    context: SettleContext,
    isKeyKnown: boolean,
    ofAnother?: SettleAnswer,
  ): Promise<SettleAnswer> {
    const past = await this.#fromArchive(context, true, isKeyKnown);
    if (ofAnother !== undefined) {
      if (past.kind === 'other_terms') return ofAnother;
      if (past.kind === 'away') return context.answers.failure('network_unavailable');
    }
    const answer = past.kind === 'answer' ? past.answer : undefined;
    const reason = answer?.body.errorReason;
    const counts = reason === undefined || reason === 'idempotency_key_conflict';
    return answer !== undefined && counts ? answer : context.answers.doneBefore();
  }

  async #fromArchive(
    context: SettleContext,
    isUsed: boolean,
    isKeyKnown: boolean,
  ): Promise<FromArchive> {
    const { request, identity, requester, answers } = context;
    const { archived } = this;
    if (!archived.isOn || identity === undefined) return NOTHING;
    const { payment, keyTag } = request;
    const [past, isKeyOfAnother] = await Promise.all([
      archived.of(payment, identity, requester, isUsed),
      !isKeyKnown && archived.isKeyOfAnother(keyTag, payment, identity),
    ]);
    if (isKeyOfAnother) {
      return { kind: 'answer', answer: answers.failure('idempotency_key_conflict') };
    }
    return answerTo(past, context);
  }

  /** The ledger lost a claim of this requester, and the payment was made, perhaps by one of our signers. */
  async #adopt(
    { request, identity, requester, answers, chain, deadlineAt }: SettleContext,
    ref: ClaimRef,
    transaction: Hex | undefined,
  ): Promise<SettleAnswer | undefined> {
    const authorization = refOfPayment(request.payment);
    if (identity === undefined || authorization === undefined) return undefined;
    const { settlesLess } = actionOf(request.payment.claim);
    const settledAmount = settlesLess ? request.payment.requirements.amount : undefined;
    const claim = { ref, identity, requester, authorization, settledAmount, deadlineAt };
    const view = await this.lostClaims.adopt(claim, chain);
    if (view === 'not_yet') {
      return transaction === undefined ? answers.notYet() : answers.pending(transaction);
    }
    if (view === undefined) return undefined;
    // The sale is rolled back if its answer can no longer be written.
    const { authorizationId } = identity;
    const rollBack = this.acknowledged.sold({
      ref,
      authorizationId,
      requester,
      isAccepted: false,
    });
    return answers.of(ref.id).success(view, rollBack);
  }
}

function answerTo(past: ArchivedPayment, { request, answers: blank }: SettleContext): FromArchive {
  const { reasons } = actionOf(request.payment.claim);
  const say = (answer: SettleAnswer): FromArchive => ({ kind: 'answer', answer });
  switch (past.kind) {
    case 'unknown':
      return NOTHING;
    case 'other_terms':
    case 'away':
      return { kind: past.kind };
    case 'refused':
      return say(blank.failure(past.reason));
    case 'unsold':
      return { kind: 'nothing', transaction: past.view.transaction };
    case 'sold_to_another': {
      const answers = past.view === undefined ? blank : blank.of(past.view.id);
      return say(answers.failure('duplicate_settlement', past.view?.transaction));
    }
    case 'failed':
      return say(blank.of(past.view.id).failed(past.view, reasons.transactionFailed));
    case 'paid': {
      const { view } = past;
      const answers = blank.of(view.id);
      // This requester had the sale before, so a repeated answer sells nothing.
      return say(
        request.isAsync
          ? answers.accepted(view, () => Promise.resolve())
          : answers.success(view, undefined),
      );
    }
  }
}
