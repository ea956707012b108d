import { delay } from '../../platform/concurrency/timing.js';
import { RedisUnavailableError } from '../../protocol/errors.js';
import type { AcceptedPayment } from '../../protocol/payment/accepted-payment.js';
import type { PaymentIdentity } from '../../protocol/payment/identity.js';
import type { Payment } from '../../protocol/payment/payment.js';
import { needsNoTransaction, preparationOf } from '../../protocol/payment/payment-facts.js';
import { actionOf } from '../../protocol/schemes/registry.js';
import type { Admission } from '../../settlement/admission.js';
import type { LabelStore } from '../../settlement/ledger/label-store.js';
import type { SettlementEvents } from '../../settlement/ledger/settlement-events.js';
import type {
  ClaimRef,
  ClaimResult,
  JoinResult,
  MadeSale,
  RedeemResult,
  SettlementStore,
  ToldWithdrawal,
} from '../../settlement/ledger/settlement-store.js';
import type { SettlementView } from '../../settlement/model/settlement.js';
import type { SettlementQueue } from '../../settlement/queue/settlement.queue.js';
import type { GoodJudgement } from '../verify/payment-verifier.js';
import { KEY_REFUSALS, type KeyBinding } from './key-binding.js';
import type { OwedSteps } from './owed-steps.js';
import type { RecentAnswers } from './recent-answers.js';
import { RequesterWait } from './requester-wait.js';
import type { SettleAnswer } from './settle-answer.js';
import type { Round, SettleContext } from './settle-context.js';

export interface ClaimingParts {
  readonly store: SettlementStore;
  readonly queues: ReadonlyMap<number, Pick<SettlementQueue, 'add'>>;
  readonly labels: Pick<LabelStore, 'note'>;
  readonly news: Pick<SettlementEvents, 'listen'>;
  readonly admission: Admission;
  /** Told of what goes wrong beside the requests. */
  readonly onTrouble: (what: string, error: unknown) => void;
}

/** What one process remembers beside the ledger. */
interface ProcessMemory {
  readonly owed: OwedSteps;
  readonly sales: RecentAnswers<MadeSale>;
  readonly withdrawals: RecentAnswers<ToldWithdrawal>;
  readonly now: () => number;
  readonly waitMs: number;
}

/** A step whose answer was lost is asked again after this time. */
const ASK_AGAIN_MS = 100;

/** The steps of a request in the ledger once its payment was judged: it claims, or joins a claim. */
export class Claiming {
  constructor(
    private readonly parts: ClaimingParts,
    private readonly own: ProcessMemory,
  ) {}

  /** Claims a payment that was judged good, and waits for what becomes of it. */
  async claim(
    context: SettleContext,
    identity: PaymentIdentity,
    key: KeyBinding,
    verdict: GoodJudgement,
  ): Promise<Round> {
    const { request, answers, requester, chain } = context;
    const payment = acceptedPayment(request.payment, verdict);
    const needsNothing = needsNoTransaction(payment);
    const [refusal, bound] = await Promise.all([
      needsNothing ? undefined : this.parts.admission.refusal(payment, chain),
      key.bind(),
    ]);
    const reason = refusal ?? (bound === 'bound' ? undefined : KEY_REFUSALS[bound]);
    if (reason !== undefined) {
      await key.unbind();
      return { answer: answers.failure(reason) };
    }
    const ref = this.parts.store.refOf(payment, identity, requester);
    this.#label(context, ref);
    request.beforeClaim?.(ref);
    // News of the claim may come before the claim's own reply.
    const wait = this.#waitFor(context, ref);
    try {
      const claimed = await this.#retryUntil(context, () =>
        this.parts.store.claim(requester, {
          identity,
          payment,
          means: verdict.means,
          isHandedOut: request.isAsync,
        }),
      );
      if (claimed.kind !== 'claimed') {
        if (claimed.kind !== 'known') await key.unbind();
        return await this.#unclaimed(context, payment, claimed);
      }
      this.parts.admission.noteQueued(payment, claimed.queued);
      if (!needsNothing) this.#addJob(ref);
      return request.isAsync
        ? { answer: this.#handedOut(context, ref, undefined) }
        : await this.#finish(context, wait, !needsNothing);
    } catch (error) {
      if (!(error instanceof RedisUnavailableError)) throw error;
      // It may have been claimed all the same, and sold where it was to be handed out.
      this.own.owed.owe(() => this.#giveUp(context, ref, wait.knownHash));
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

  /** Before the claim: who dies behind it can look it up. Nothing waits for it, and nothing needs it. */
  #label({ request: { labelTag = '' } }: SettleContext, ref: ClaimRef): void {
    if (labelTag === '') return;
    this.parts.labels.note(labelTag, ref).catch((error: unknown) => {
      this.parts.onTrouble('a label of a claim', error);
    });
  }

  /** The record is the truth: should the job not be added, a sweep finds the record. */
  #addJob({ chainId, id }: ClaimRef): void {
    this.parts.queues.get(chainId)?.add(id);
  }

  async #unclaimed(
    { answers }: SettleContext,
    payment: AcceptedPayment,
    claimed: Exclude<ClaimResult, { kind: 'claimed' }>,
  ): Promise<Round> {
    switch (claimed.kind) {
      case 'known':
      case 'in_flight_changed':
        return 'again';
      case 'told_to_another':
        return { answer: answers.failure('duplicate_settlement') };
      case 'permit_in_flight': {
        const { insufficientAllowance } = actionOf(payment.authorization).reasons;
        return { answer: answers.failure(insufficientAllowance) };
      }
      case 'had_its_place': {
        const failed = preparationOf(payment)?.failed ?? 'erc20_approval_broadcast_failed';
        return { answer: answers.failure(failed) };
      }
      case 'queue_full': {
        const { admission } = this.parts;
        admission.noteQueued(payment, claimed.queued);
        const seconds = await admission.retryAfterSeconds(payment, claimed.queued);
        return { answer: answers.failure('queue_full', undefined, seconds) };
      }
    }
  }

  /** Asks again while the ledger does not answer, until the requester's time is up. */
  async #retryUntil<T>({ request }: SettleContext, step: () => Promise<T>): Promise<T> {
    const until = request.arrivedAt + this.own.waitMs;
    for (;;) {
      try {
        return await step();
      } catch (error) {
        const isWorthIt = error instanceof RedisUnavailableError && request.connection.isWritable;
        if (!isWorthIt || this.own.now() + ASK_AGAIN_MS > until) throw error;
        await delay(ASK_AGAIN_MS);
      }
    }
  }

  /** Hands a claim that is under way out by a 202. */
  async handOut(context: SettleContext, ref: ClaimRef): Promise<Round> {
    const { requester } = context;
    const { store } = this.parts;
    const answers = context.answers.of(ref.id);
    try {
      const redeem = async (): Promise<JoinResult | RedeemResult> => {
        const joined = await store.join(ref, requester);
        const isOpen = joined.kind === 'waiting' || joined.kind === 'owner';
        return isOpen ? store.redeem(ref, requester, 'async') : joined;
      };
      const until = context.request.arrivedAt + this.own.waitMs;
      let redeemed = await this.#retryUntil(context, redeem);
      // The ledger went back: for a while another process may still say that it sold this.
      while (redeemed.kind === 'not_yet' && this.own.now() + ASK_AGAIN_MS <= until) {
        await delay(ASK_AGAIN_MS);
        redeemed = await this.#retryUntil(context, redeem);
      }
      // Withdrawn since it was looked at: it is judged and claimed like a payment never seen.
      if (redeemed.kind === 'gone' || redeemed.kind === 'over') return 'again';
      const { kind, view } = redeemed;
      if (kind === 'sold') return { answer: this.#handedOut(context, ref, view) };
      await store.leave(ref, requester, 'closed', undefined);
      if (kind === 'not_eligible' || kind === 'not_yet') {
        if (view.transaction !== undefined) return { answer: answers.pending(view.transaction) };
        if (kind === 'not_yet') return { answer: answers.failure('network_unavailable') };
      }
      return { answer: answers.failure('duplicate_settlement', view.transaction) };
    } catch (error) {
      if (error instanceof RedisUnavailableError) {
        this.own.owed.owe(() => this.#giveUp(context, ref, undefined));
      }
      throw error;
    }
  }

  #handedOut(
    context: SettleContext,
    ref: ClaimRef,
    view: SettlementView | undefined,
  ): SettleAnswer {
    const { requester, answers } = context;
    const authorizationId = authorizationOf(context, ref);
    this.own.sales.note({ ref, authorizationId, requester, isHandedOut: true });
    return answers
      .of(ref.id)
      .handedOut({ id: ref.id, transaction: view?.transaction }, async () => {
        this.own.sales.takenBack(ref.id);
        await this.own.owed.takeOrOwe(() => this.#giveUp(context, ref, undefined));
      });
  }

  /** Gives up what a requester may hold in the ledger. */
  async #giveUp(
    context: SettleContext,
    ref: ClaimRef,
    knownHash: RequesterWait['knownHash'],
  ): Promise<void> {
    const { requester } = context;
    await this.parts.store.takeBack(ref, authorizationOf(context, ref), requester);
    await this.parts.store.leave(ref, requester, 'closed', knownHash);
  }

  /** Waits for a claim that is under way. */
  wait(context: SettleContext, ref: ClaimRef): Promise<Round> {
    return this.#finish(context, this.#waitFor(context, ref), false);
  }

  async #finish(context: SettleContext, wait: RequesterWait, hasJoined: boolean): Promise<Round> {
    const waited = await wait.run(hasJoined);
    if (waited.kind === 'unknown') return { lost: wait.ref };
    if (waited.isOver) await context.key?.unbind();
    return { answer: waited.answer };
  }

  #waitFor(context: SettleContext, ref: ClaimRef): RequesterWait {
    const { request, answers, requester } = context;
    const { isRepeatable, reasons } = actionOf(request.payment.claim);
    return new RequesterWait(ref, {
      store: this.parts.store,
      news: this.parts.news,
      answers: answers.of(ref.id),
      requester,
      authorizationId: authorizationOf(context, ref),
      connection: request.connection,
      finality: request.finality,
      deadlineAt: request.arrivedAt + this.own.waitMs,
      owed: this.own.owed,
      sales: this.own.sales,
      withdrawals: this.own.withdrawals,
      now: this.own.now,
      isRepeatable,
      unknownFailure: reasons.transactionFailed,
    });
  }
}

/** Where nothing says which authorization it is of, it is of none that another claim could have. */
function authorizationOf({ identity }: SettleContext, ref: ClaimRef): string {
  return identity?.authorizationId ?? ref.id;
}

function acceptedPayment(
  { requirements }: Payment,
  { authorization, payerHasCode, dataSuffix }: GoodJudgement,
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
