import type { Hex } from 'viem';
import type { Head } from '../../../platform/chain/head-watcher.js';
import type { Clock } from '../../../platform/concurrency/clock.js';
import { deadlineOf } from '../../../protocol/payment/payment-facts.js';
import type {
  Ending,
  FailedTransaction,
  HeldLane,
  LaneAttempts,
  LaneEndings,
  LaneQueue,
} from '../../ledger/lane-store.js';
import { valueSentBy } from '../../model/attempt.js';
import type { LaneObserver } from '../lane-observer.js';
import type {
  AssetSuspensions,
  BatchSuspensions,
  LaneChain,
  LaneEvents,
  OutcomeResolver,
  OutcomeVerdict,
} from '../ports.js';
import type { LaneState } from '../state/lane-state.js';
import type { Inclusion, TrackedAttempt } from '../state/tracked-attempt.js';
import { countsFromParking, noteFailure } from './failures.js';
import { type Answer, OutcomeQuestions, type Question, type Subject } from './outcome-questions.js';
import type { UnresolvedUses } from './unresolved-uses.js';

interface OutcomesOptions {
  readonly chain: Pick<LaneChain, 'chainId'>;
  readonly queue: LaneQueue;
  readonly attempts: LaneAttempts;
  readonly endings: LaneEndings;
  readonly state: LaneState;
  readonly resolver: OutcomeResolver;
  readonly suspensions: BatchSuspensions;
  readonly assetSuspensions: AssetSuspensions;
  readonly unresolved: UnresolvedUses;
  readonly events: LaneEvents;
  readonly observer: LaneObserver;
  readonly clock: Clock;
}

/** When a parked settlement is asked again. */
const PARKED_MS = 15_000;

/**
 * Ends settlements. The reads that decide (they run code of tokens and search the chain) are background tasks with time
 * limits. An outcome that stays unknown after some tries is parked, so that the lane does not wait for it. All writes
 * are made in the lane's own turns.
 */
export class Outcomes {
  readonly #questions: OutcomeQuestions;

  constructor(private readonly options: OutcomesOptions) {
    const onError = (error: unknown): void => {
      options.observer.failed(`${options.chain.chainId}`, 'outcome', error);
    };
    this.#questions = new OutcomeQuestions({ ...options, onError });
  }

  reset(): void {
    this.#questions.reset();
  }

  // ---------------------------------------------------------------- asking

  /** Ends settlements that a final block shows as paid, and asks about the others. */
  async finalize(held: HeldLane, head: Head): Promise<void> {
    const { finalized } = head;
    if (finalized === undefined) return;
    for (const tracked of this.options.state.mined) {
      const { inclusion, finalBlock } = tracked;
      if (inclusion === undefined || inclusion.blockNumber > finalized.number) continue;
      // A block at or below the final height is not always part of the chain: its hash decides.
      if (finalBlock !== inclusion.blockHash) continue;
      await this.#endPaid(held, tracked, inclusion);
      for (const item of tracked.items) {
        this.#questions.ask(
          { ...item, subject: { kind: 'attempt', tracked, isFinal: true } },
          head,
        );
      }
      if (tracked.payments.size === 0) await this.close(held, tracked);
    }
  }

  /** Asks about settlements that can no longer be paid, while their attempt is still in flight. */
  expire(waiting: readonly TrackedAttempt[], head: Head): void {
    const { finalized } = head;
    if (finalized === undefined) return;
    for (const tracked of waiting) {
      for (const item of tracked.items) {
        if (deadlineOf(item.payment) > BigInt(finalized.timestamp)) continue;
        this.#questions.ask(
          { ...item, subject: { kind: 'attempt', tracked, isFinal: false } },
          head,
        );
      }
    }
  }

  /** Asks for the outcomes of settlements that were found used before they could be sent again. */
  followUses(head: Head): void {
    for (const { taken, sinceBlock } of this.options.unresolved.all) {
      const { id, payment } = taken;
      this.#questions.ask({ id, payment, subject: { kind: 'unresolved', sinceBlock } }, head);
    }
  }

  // ---------------------------------------------------------------- answers

  /** Writes the results since the last call. */
  async collect(held: HeldLane, head: Head): Promise<void> {
    for (const answer of this.#questions.collect(head)) {
      const { subject } = answer.question;
      if (answer.kind === 'unknown') await this.#park(held, answer);
      else await this.#conclude(held, answer.question, answer.verdict);
      if (subject.kind === 'attempt') await this.#closeIfDone(held, subject.tracked);
    }
  }

  async #conclude(held: HeldLane, question: Question, verdict: OutcomeVerdict): Promise<void> {
    const { id, subject } = question;
    if (verdict.kind === 'ended') {
      await this.#end(held, subject, [verdict.ending]);
    } else if (subject.kind === 'attempt') {
      await this.#requeue(held, subject.tracked, id);
    } else {
      // The block that showed it used was replaced, so it can be sent.
      await this.#giveBack(held, id);
    }
  }

  // ---------------------------------------------------------------- writing

  async #endPaid(held: HeldLane, tracked: TrackedAttempt, inclusion: Inclusion): Promise<void> {
    const paid = [...inclusion.credited]
      .filter(([id]) => tracked.payments.has(id))
      .map(([id, logIndex]): Ending => ({
        id,
        state: 'finalized',
        isPaid: true,
        ...(logIndex !== undefined && { logIndex }),
      }));
    if (paid.length < tracked.payments.size) await this.#credit(inclusion.transaction, paid);
    await this.#end(held, { kind: 'attempt', tracked, isFinal: true }, paid);
  }

  /** A later search for a settlement that the same transaction does not pay may find these logs. */
  async #credit(transaction: Hex, paid: readonly Ending[]): Promise<void> {
    const { endings, chain } = this.options;
    for (const { id, logIndex } of paid) {
      if (logIndex !== undefined) await endings.credit(chain.chainId, transaction, logIndex, id);
    }
  }

  async #end(held: HeldLane, subject: Subject, endings: readonly Ending[]): Promise<void> {
    if (endings.length === 0) return;
    const { observer, events, unresolved } = this.options;
    const tracked = subject.kind === 'attempt' ? subject.tracked : undefined;
    if (await this.#refuseUnsent(held, subject, endings)) return;
    const { resubmitted } = await this.options.endings.finish(held, tracked?.accountNonce, endings);
    const ended = endings.filter(({ id }) => !resubmitted.includes(id));
    observer.ended(held.lane, tracked?.attempt, ended);
    if (resubmitted.length > 0) observer.resubmitted(held.lane, resubmitted);
    for (const { id, state, blamed } of endings) {
      const payment = tracked?.payments.get(id);
      tracked?.payments.delete(id);
      tracked?.stored.delete(id);
      unresolved.resolved(id);
      if (state === 'reverted' && payment !== undefined) {
        const isSuccess = tracked?.inclusion?.isSuccess === true;
        await noteFailure(this.options, payment, isSuccess, blamed);
      }
    }
    events.finished(ended.map(({ id }) => id));
  }

  /** Refuses settlements that were never sent and were presented elsewhere, like any that is used at acceptance. */
  async #refuseUnsent(
    held: HeldLane,
    subject: Subject,
    endings: readonly Ending[],
  ): Promise<boolean> {
    const { queue, unresolved, events } = this.options;
    if (subject.kind !== 'unresolved') return false;
    const refusals = endings.flatMap(({ id, isPaid, reason }) =>
      isPaid || reason === undefined || unresolved.get(id)?.taken.sentBefore !== undefined
        ? []
        : [{ id, reason }],
    );
    if (refusals.length === 0) return false;
    await queue.refuse(held, refusals);
    for (const { id } of refusals) unresolved.resolved(id);
    events.finished(refusals.map(({ id }) => id));
    return true;
  }

  async #requeue(held: HeldLane, tracked: TrackedAttempt, id: string): Promise<void> {
    const { accountNonce, sentSince } = tracked;
    await this.options.endings.requeue(held, accountNonce, sentSince, [id]);
    tracked.payments.delete(id);
    this.options.state.work.notify();
  }

  async #giveBack(held: HeldLane, id: string): Promise<void> {
    await this.options.queue.giveBack(held, [id]);
    this.options.unresolved.resolved(id);
  }

  async #park(
    held: HeldLane,
    { question, why }: Extract<Answer, { kind: 'unknown' }>,
  ): Promise<void> {
    const { endings, observer, unresolved, clock, events } = this.options;
    const { id, payment, subject } = question;
    const parking = { id, why, retryAtMs: clock.now() + PARKED_MS };
    if (subject.kind === 'attempt') {
      const { accountNonce, sentSince, payments } = subject.tracked;
      const failed = failedOf(subject.tracked);
      const parkings = [{ ...parking, ...(failed && { failed }) }];
      await endings.park(held, accountNonce, sentSince, parkings);
      payments.delete(id);
      if (countsFromParking(payment, why, failed)) {
        await noteFailure(this.options, payment, failed?.isSuccess === true);
      }
    } else {
      await endings.park(held, undefined, subject.sinceBlock, [parking]);
      unresolved.resolved(id);
    }
    observer.parked(held.lane, id, why);
    events.finished([id]);
  }

  // ---------------------------------------------------------------- the end of a nonce

  async #closeIfDone(held: HeldLane, tracked: TrackedAttempt): Promise<void> {
    if (tracked.payments.size > 0 || tracked.inclusion === undefined) return;
    await this.close(held, tracked);
  }

  /** The nonce is final, and all its settlements are resolved. */
  async close(held: HeldLane, tracked: TrackedAttempt): Promise<void> {
    const { attempts, state, observer, suspensions } = this.options;
    const { accountNonce, inclusion, attempt, assets } = tracked;
    await attempts.closeAttempt(held, accountNonce, costOf(tracked));
    state.closed(accountNonce);
    if (attempt.kind !== 'batch' || inclusion === undefined || inclusion.isSuccess) return;
    observer.batchReverted(held.lane, attempt);
    for (const asset of assets) suspensions.noteRevert(asset);
  }
}

/** Its final transaction, which one settlement had alone and which did not pay it. */
function failedOf(tracked: TrackedAttempt): FailedTransaction | undefined {
  const { attempt, inclusion } = tracked;
  if (attempt.kind === 'batch' || inclusion === undefined) return undefined;
  if (!tracked.isSettledBy(inclusion.transaction)) return undefined;
  const { transaction, blockNumber, blockHash, isSuccess } = inclusion;
  return { transaction, blockNumber, blockHash, isSuccess };
}

/** Wei that its account nonce has cost; zero where another sender's transaction used it. */
function costOf({ attempt, inclusion }: TrackedAttempt): bigint {
  if (inclusion === undefined) return 0n;
  return inclusion.gasUsed * inclusion.effectiveGasPrice + valueSentBy(attempt, inclusion);
}
