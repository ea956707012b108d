import { Inject, Injectable } from '@nestjs/common';
import { PinoLogger } from 'nestjs-pino';
import { delay } from '../../platform/concurrency/timing.js';
import { AppConfig } from '../../platform/config/app-config.js';
import { AtShutdown, CLOSING_MS } from '../../platform/lifecycle/at-shutdown.js';
import { RedisUnavailableError } from '../../protocol/errors.js';
import type { AcceptedPayment } from '../../protocol/payment/accepted-payment.js';
import type { Payment } from '../../protocol/payment/payment.js';
import { needsNoTransaction, preparationOf } from '../../protocol/payment/payment-facts.js';
import { actionOf } from '../../protocol/schemes/registry.js';
import { Admission } from '../../settlement/admission.js';
import type { LabelStore } from '../../settlement/ledger/label-store.js';
import { LABEL_STORE, SETTLEMENT_STORE } from '../../settlement/ledger/ledger.module.js';
import { SettlementEvents } from '../../settlement/ledger/settlement-events.js';
import type {
  ClaimRef,
  ClaimResult,
  JoinResult,
  RedeemResult,
  SettlementStore,
} from '../../settlement/ledger/settlement-store.js';
import {
  isFailure,
  isSoldToKey,
  isSuccessAt,
  type SettlementView,
} from '../../settlement/model/settlement.js';
import { type SettlementQueue, SettlementQueues } from '../../settlement/queue/settlement.queue.js';
import type { ValidVerification } from '../verify/payment-verifier.js';
import { AcknowledgedAnswers } from './acknowledged-answers.js';
import { BACKGROUND_STEP_FAILED, DeferredSteps } from './deferred-steps.js';
import { KEY_REFUSALS } from './key-binding.js';
import { RequesterWait } from './requester-wait.js';
import type { SettleAnswer } from './settle-answer.js';
import type { NamedContext, Round, SettleRequest } from './settle-context.js';

/** Pause before a step without an answer is repeated. */
const ASK_AGAIN_MS = 100;
/** How much longer an answer about a seller's own action may take than one about a payment, and the limit of that. */
const PATIENT = 2;
const PATIENT_MAX_MS = 60_000;
/** Reserved at the end of the grace period, because a waiting request checks its deadline once a second. */
const ANSWERING_MS = 2000;

/** The steps of a request in the ledger after its payment was verified: it claims, or joins a claim. */
@Injectable()
export class Claiming {
  #endsAt = Infinity;

  constructor(
    @Inject(SETTLEMENT_STORE) private readonly store: SettlementStore,
    @Inject(LABEL_STORE) private readonly labels: Pick<LabelStore, 'note'>,
    @Inject(SettlementQueues)
    private readonly queues: ReadonlyMap<number, Pick<SettlementQueue, 'add'>>,
    @Inject(SettlementEvents) private readonly events: Pick<SettlementEvents, 'listen'>,
    private readonly admission: Admission,
    private readonly deferred: DeferredSteps,
    private readonly acknowledged: AcknowledgedAnswers,
    @Inject(AppConfig)
    private readonly config: Pick<AppConfig, 'settleWaitMs' | 'shutdownGraceMs'>,
    @Inject(PinoLogger) private readonly logger: Pick<PinoLogger, 'warn'>,
  ) {}

  /** Claims a verified payment and waits for the outcome. */
  async claim(context: NamedContext, verdict: ValidVerification): Promise<Round> {
    const { request, answers, requester, chain, identity, key } = context;
    const payment = acceptedPayment(request.payment, verdict);
    const needsNothing = needsNoTransaction(payment);
    // A request that is refused here never holds the key: giving it up would take it from a claim of the same order.
    const refusal = needsNothing ? undefined : await this.admission.refusal(payment, chain);
    if (refusal !== undefined) return { answer: answers.failure(refusal) };
    const bound = await key.bind();
    if (bound !== 'bound') return { answer: answers.failure(KEY_REFUSALS[bound]) };
    const ref = this.store.refOf(payment, identity, requester);
    this.#label(context, ref);
    request.beforeClaim?.(ref);
    // An event of the claim may arrive before the reply to the claim.
    const wait = this.#waitFor(context, ref);
    try {
      const claimed = await this.#retryUntil(context, () =>
        this.store.claim(requester, {
          identity,
          payment,
          means: verdict.means,
          isAccepted: request.isAsync,
        }),
      );
      if (claimed.kind !== 'claimed') {
        if (claimed.kind !== 'known') await key.unbind();
        return await this.#unclaimed(context, payment, claimed);
      }
      await key.renew();
      this.admission.noteQueued(payment, claimed.queued);
      if (!needsNothing) this.#addJob(ref);
      return request.isAsync
        ? { answer: this.#handedOut(context, ref, undefined) }
        : await this.#finish(context, wait, !needsNothing);
    } catch (error) {
      if (!(error instanceof RedisUnavailableError)) throw error;
      // The claim may be stored although its reply was lost, and a 202 may have been sold with it.
      this.deferred.defer(() => this.#leave(context, ref, wait.knownHash));
      return {
        answer:
          wait.knownHash === undefined
            ? answers.failure('network_unavailable')
            : answers.of(ref.id).pending(wait.knownHash),
      };
    } finally {
      wait.end();
    }
  }

  /** Stored before the claim, so that the claim can be looked up if this process dies. No step waits for it. */
  #label({ request: { labelTag = '' } }: NamedContext, ref: ClaimRef): void {
    if (labelTag === '') return;
    this.labels.note(labelTag, ref).catch((err: unknown) => {
      this.logger.warn({ what: 'storing the label of a claim', err }, BACKGROUND_STEP_FAILED);
    });
  }

  /** The record is the truth: if the job is not added, a sweep finds the record. */
  #addJob({ chainId, id }: ClaimRef): void {
    this.queues.get(chainId)?.add(id);
  }

  async #unclaimed(
    { answers }: NamedContext,
    payment: AcceptedPayment,
    claimed: Exclude<ClaimResult, { kind: 'claimed' }>,
  ): Promise<Round> {
    switch (claimed.kind) {
      case 'known':
      case 'acknowledged_to_another':
      case 'in_flight_changed':
        return 'again';
      case 'permit_in_flight': {
        const { insufficientAllowance } = actionOf(payment.authorization).reasons;
        return { answer: answers.failure(insufficientAllowance) };
      }
      case 'had_its_place': {
        const failed = preparationOf(payment)?.failed ?? 'erc20_approval_broadcast_failed';
        return { answer: answers.failure(failed) };
      }
      case 'not_yet':
        return { answer: answers.notYet() };
      case 'queue_full': {
        this.admission.noteQueued(payment, claimed.queued);
        const seconds = await this.admission.retryAfterSeconds(payment, claimed.queued);
        return { answer: answers.failure('queue_full', undefined, seconds) };
      }
    }
  }

  /**
   * Repeats a step until the requester's time is over, while the ledger does not answer or has just lost its newest
   * writes: another process may still replay a sale of this payment.
   */
  async #retryUntil<T extends { readonly kind: string }>(
    { request, deadlineAt }: NamedContext,
    step: () => Promise<T>,
  ): Promise<T> {
    const isOver = (): boolean =>
      !request.connection.isWritable || Date.now() + ASK_AGAIN_MS > deadlineAt();
    for (;;) {
      try {
        const result = await step();
        if (result.kind !== 'not_yet' || isOver()) return result;
      } catch (error) {
        if (!(error instanceof RedisUnavailableError) || isOver()) throw error;
      }
      await delay(ASK_AGAIN_MS);
    }
  }

  /** Answers a claim that is in progress with 202. */
  async handOut(context: NamedContext, ref: ClaimRef): Promise<Round> {
    const { requester } = context;
    const { store } = this;
    const answers = context.answers.of(ref.id);
    const { isRepeatable = false } = actionOf(context.request.payment.claim);
    try {
      const redeem = async (): Promise<JoinResult | RedeemResult> => {
        const joined = await store.join(ref, requester);
        if (joined.kind === 'gone') return joined;
        const isOpen = joined.kind === 'waiting' || joined.kind === 'owner';
        return isOpen || isRepeatable || isSoldToKey(joined.view, requester.keyTag)
          ? store.redeem(ref, requester, 'async')
          : joined;
      };
      const redeemed = await this.#retryUntil(context, redeem);
      // The claim was withdrawn after the last look. The payment is verified and claimed like a new one.
      if (redeemed.kind === 'gone' || redeemed.kind === 'over') return 'again';
      const { kind, view } = redeemed;
      if (kind === 'sold') return { answer: this.#handedOut(context, ref, view) };
      await store.leave(ref, requester, 'closed', undefined);
      if (isRepeatable) return { answer: this.#repeated(context, ref, view) };
      if (kind === 'not_eligible' || kind === 'not_yet') {
        if (view.transaction !== undefined) return { answer: answers.pending(view.transaction) };
        if (kind === 'not_yet') return { answer: answers.notYet() };
      }
      // Another order has the sale: this one may come with another payment.
      if (kind !== 'too_many') await context.key.unbind();
      return { answer: answers.failure('duplicate_settlement', view.transaction) };
    } catch (error) {
      if (error instanceof RedisUnavailableError) {
        this.deferred.defer(() => this.#leave(context, ref, undefined));
      }
      throw error;
    }
  }

  /**
   * For an action without a sale, each requester gets its outcome, or a 202 while it is in progress. Asking for the 202
   * keeps the claim from being withdrawn.
   */
  #repeated(
    { request, answers: blank }: NamedContext,
    ref: ClaimRef,
    view: SettlementView,
  ): SettleAnswer {
    const answers = blank.of(ref.id);
    if (isFailure(view)) {
      return answers.failed(view, actionOf(request.payment.claim).reasons.transactionFailed);
    }
    return isSuccessAt(view, request.finality)
      ? answers.success(view, undefined)
      : answers.accepted(view, () => Promise.resolve());
  }

  #handedOut(
    { requester, answers, identity: { authorizationId } }: NamedContext,
    ref: ClaimRef,
    view: SettlementView | undefined,
  ): SettleAnswer {
    const rollBack = this.acknowledged.sold({ ref, authorizationId, requester, isAccepted: true });
    return answers.of(ref.id).accepted({ id: ref.id, transaction: view?.transaction }, rollBack);
  }

  /** Gives up all that a requester may hold in the ledger. */
  async #leave(
    { requester, identity }: NamedContext,
    ref: ClaimRef,
    knownHash: RequesterWait['knownHash'],
  ): Promise<void> {
    await this.store.rollBack(ref, identity.authorizationId, requester);
    await this.store.leave(ref, requester, 'closed', knownHash);
  }

  /** Waits for a claim that is in progress. */
  wait(context: NamedContext, ref: ClaimRef): Promise<Round> {
    return this.#finish(context, this.#waitFor(context, ref), false);
  }

  async #finish(context: NamedContext, wait: RequesterWait, hasJoined: boolean): Promise<Round> {
    const waited = await wait.run(hasJoined);
    if (waited.kind === 'unknown') return { lost: { ref: wait.ref, hash: wait.knownHash } };
    if (waited.isKeyFree) await context.key.unbind();
    return { answer: waited.answer };
  }

  /**
   * Requests that wait longer than the process lives would be cut off, so they are answered at shutdown with what is
   * known.
   */
  @AtShutdown('waits', 'settles')
  endInTime(): void {
    const leftMs = this.config.shutdownGraceMs - CLOSING_MS - ANSWERING_MS;
    this.#endsAt = Date.now() + Math.max(leftMs, 0);
  }

  /** The latest time at which a request is answered, milliseconds since the epoch. */
  deadlineOf(request: SettleRequest): number {
    return Math.min(this.#ownDeadlineOf(request), this.#endsAt);
  }

  /**
   * The same without a shutdown. Repeatable actions get more time: no buyer waits for them, and the stock manager
   * treats "pending" as a failure.
   */
  #ownDeadlineOf({ arrivedAt, payment }: SettleRequest): number {
    const { isRepeatable = false } = actionOf(payment.claim);
    const { settleWaitMs } = this.config;
    const patientMs = Math.max(settleWaitMs, Math.min(settleWaitMs * PATIENT, PATIENT_MAX_MS));
    return arrivedAt + (isRepeatable ? patientMs : settleWaitMs);
  }

  #waitFor(context: NamedContext, ref: ClaimRef): RequesterWait {
    const { request, answers, requester, identity, deadlineAt } = context;
    const { isRepeatable = false, reasons } = actionOf(request.payment.claim);
    return new RequesterWait(ref, {
      store: this.store,
      events: this.events,
      answers: answers.of(ref.id),
      requester,
      authorizationId: identity.authorizationId,
      connection: request.connection,
      finality: request.finality,
      deadlineAt,
      ownDeadlineAt: this.#ownDeadlineOf(request),
      deferred: this.deferred,
      acknowledged: this.acknowledged,
      isRepeatable,
      unknownFailure: reasons.transactionFailed,
    });
  }
}

export function acceptedPayment(
  { requirements }: Payment,
  { authorization, payerHasCode, dataSuffix }: ValidVerification,
): AcceptedPayment {
  const { chainId, asset, payTo, amount, tokenName, tokenVersion } = requirements;
  return {
    chainId,
    asset,
    payTo,
    amount,
    authorization,
    payerHasCode,
    tokenName: typeof tokenName === 'string' ? tokenName : undefined,
    tokenVersion: typeof tokenVersion === 'string' ? tokenVersion : undefined,
    ...(dataSuffix !== undefined && { dataSuffix }),
  };
}
