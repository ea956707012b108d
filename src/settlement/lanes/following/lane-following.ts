import type { Address, Hex } from 'viem';
import type { BlockHeader } from '../../../platform/chain/block.js';
import type { Head } from '../../../platform/chain/head-watcher.js';
import { BackgroundTasks } from '../../../platform/concurrency/background-tasks.js';
import type { Clock } from '../../../platform/concurrency/clock.js';
import type { HeldLane, LaneEndings, LaneLeases } from '../../ledger/lane-store.js';
import { isTransient, ReopenLane } from '../lane-errors.js';
import type { LaneObserver } from '../lane-observer.js';
import type { LaneChain, ReceiptReader, SeenInclusion } from '../ports.js';
import { GAPS_MOST } from '../recovery/lane-recovery.js';
import type { Broadcaster } from '../sending/broadcaster.js';
import { resendActionFor } from '../sending/resend-policy.js';
import type { LaneState } from '../state/lane-state.js';
import type { TrackedAttempt } from '../state/tracked-attempt.js';
import type { Confirmer } from './confirmer.js';
import type { Outcomes } from './outcomes.js';
import type { UnresolvedUses } from './unresolved-uses.js';

interface LaneFollowingOptions {
  readonly signer: Address;
  readonly chain: LaneChain;
  readonly leases: LaneLeases;
  readonly endings: LaneEndings;
  readonly state: LaneState;
  readonly broadcaster: Broadcaster;
  readonly reader: ReceiptReader;
  readonly confirmer: Confirmer;
  readonly outcomes: Outcomes;
  readonly unresolved: UnresolvedUses;
  readonly observer: LaneObserver;
  readonly clock: Clock;
}

/** The chain does not include sent transactions. */
const STALL_BLOCKS = 6n;
/** A nonce gap, and a nonce used by a foreign transaction, count only after they have lasted this long. */
const BELIEVED_AFTER_MS = 1500;
/** Time limit for resending attempts, because blocks have to be read too. */
const PUSH_MS = 500;
/** The pause after a nonce count that no second endpoint confirmed. */
const DOUBT_MS = 10_000;
const SEARCHES_MOST = 16;
/** One endpoint may hide an attempt that waits for this many blocks; each look searches for this many of them. */
const HIDDEN_BLOCKS = 3n;
const HIDDEN_MOST = 8;
const SEARCH_MS = 5000;

/** The result of a background search. */
type Finding =
  | { readonly kind: 'found'; readonly tracked: TrackedAttempt; readonly seen: SeenInclusion }
  /** Its nonce is used in a final block, and no endpoint has a transaction of this lane with it. */
  | { readonly kind: 'gone'; readonly tracked: TrackedAttempt }
  | { readonly kind: 'nothing'; readonly tracked: TrackedAttempt }
  /** No endpoint has a transaction of it, so it is still in flight. */
  | { readonly kind: 'unseen' }
  /** Account nonces below this are used on chain, as more than one endpoint says. */
  | {
      readonly kind: 'counted';
      readonly used: number;
      /** Used account nonces without a stored attempt when the count was read. */
      readonly missing: readonly number[];
    };

type Counted = Extract<Finding, { readonly kind: 'counted' }>;

const COUNT = 'count';

/** Follows the attempts of a lane from block to block until each has ended. */
export class LaneFollowing {
  readonly #searches: BackgroundTasks<Finding>;
  #lookedAt: Hex | undefined;
  /** Paces looks while a used nonce shows no transaction. */
  readonly #missingPace = new LookPace();
  #stalledAtBlock = 0n;
  #gapSince: number | undefined;
  #doubtsUntil = 0;

  constructor(private readonly options: LaneFollowingOptions) {
    this.#searches = new BackgroundTasks({
      most: SEARCHES_MOST,
      mostOfGroup: SEARCHES_MOST,
      limitMs: SEARCH_MS,
      onResult: () => {
        options.state.changed.notify();
      },
      clock: options.clock,
    });
  }

  /** Resets the state after the lane was reopened. */
  reset(): void {
    this.#searches.clear();
    this.options.confirmer.reset();
    this.options.outcomes.reset();
    this.options.unresolved.clear();
    this.#lookedAt = undefined;
    this.#missingPace.note(false, 0);
    this.#gapSince = undefined;
  }

  /** Whether a block is awaited for something. */
  get isWaiting(): boolean {
    return this.options.state.hasAttempts || this.options.unresolved.size > 0;
  }

  /**
   * Processes one head and the results of background tasks. Never waits for foreign code or a search.
   *
   * @returns whether the same block has no more to show.
   * @throws ReopenLane, ChainUnavailableError, LeaseLostError, RedisUnavailableError. It may be
   *   repeated.
   */
  async follow(held: HeldLane, head: Head): Promise<boolean> {
    const { confirmer, outcomes, state, clock } = this.options;
    await confirmer.collect(held, head);
    await outcomes.collect(held, head);
    await this.#collect(held, head);
    if (confirmer.takeDoubt()) this.#lookedAt = undefined;
    // An attempt sent since the last look may have missed a block.
    const reportedUsed = takeNonceReportedUsed(state.attempts);
    const isDue = reportedUsed.size > 0 || this.#missingPace.isDue(clock.steady());
    if (isDue || this.#lookedAt !== head.latest.hash) await this.#look(held, head, reportedUsed);
    confirmer.askFinal(head);
    await outcomes.finalize(held, head);
    outcomes.followUses(head);
    const isOver = !this.#missingPace.isOn && !confirmer.isInDoubt;
    return isOver && this.#lookedAt === head.latest.hash;
  }

  async #look(
    held: HeldLane,
    head: Head,
    reportedUsed: ReadonlySet<TrackedAttempt>,
  ): Promise<void> {
    const { confirmer, outcomes, state } = this.options;
    if (!state.hasAttempts) {
      this.#lookedAt = head.latest.hash;
      this.#missingPace.note(false, 0);
      return;
    }
    const minedBefore = state.mined.length;
    const { usedNonces, missing, waiting } = await confirmer.look(held, head);
    // First, because later searches may take all places.
    this.#doubtCount(usedNonces);
    this.#searchMissing(missing, head.finalized);
    this.#searchHidden(waiting, reportedUsed, head);
    await this.#resend(held, waiting, usedNonces, head);
    outcomes.expire(waiting, head);
    this.#missingPace.note(missing.length > 0, this.options.clock.steady());
    const wasReplaced = state.mined.length < minedBefore;
    this.#lookedAt = wasReplaced ? undefined : head.latest.hash;
  }

  // ---------------------------------------------------------------- the way there

  /** Resends attempts that no block includes, with a higher fee where only that can help. */
  async #resend(
    held: HeldLane,
    waiting: readonly TrackedAttempt[],
    usedNonces: number,
    head: Head,
  ): Promise<void> {
    const { state, broadcaster, observer, clock } = this.options;
    const now = head.latest.number;
    const until = clock.steady() + PUSH_MS;
    for (const tracked of waiting) {
      const action = resendActionFor({
        refusal: tracked.refusal,
        isTaken: tracked.isTaken,
        transactions: tracked.attempt.transactions.length,
        blocksSinceSent: now - tracked.sentAtBlock,
        blocksSincePriced: now - tracked.pricedAtBlock,
        isFirst: tracked.accountNonce === usedNonces,
      });
      if (action === 'wait') continue;
      // A remote key service is slow, so the other attempts are resent with the next block.
      if (clock.steady() > until) break;
      if (action === 'cancel') state.tooLarge(tracked.attempt.settlementIds.length);
      if (action === 'bumpFees' && (await this.#replaces('bumpFees', held, tracked, head)))
        continue;
      if (action === 'cancel' && (await this.#replaces('cancel', held, tracked, head))) continue;
      tracked.sentAtBlock = now;
      observer.rebroadcast(held.lane, tracked.attempt);
      void broadcaster.broadcast(tracked);
    }
    const oldest = waiting[0];
    if (oldest === undefined || now - oldest.attempt.allocatedAtBlock < STALL_BLOCKS) return;
    if (now - this.#stalledAtBlock >= STALL_BLOCKS) {
      this.#stalledAtBlock = now;
      state.stalled();
    }
  }

  async #replaces(
    how: 'bumpFees' | 'cancel',
    held: HeldLane,
    tracked: TrackedAttempt,
    head: Head,
  ): Promise<boolean> {
    const replaced = await this.options.broadcaster[how](held, tracked, head);
    return replaced === 'replaced' || replaced === 'cancelled';
  }

  // ---------------------------------------------------------------- account nonces

  /**
   * Attempts whose nonce is used on chain by a transaction that this endpoint does not know as the lane's. It counts as
   * a foreign use only when it is final, all endpoints that answer agree, and none of them knows a transaction of this
   * lane.
   */
  #searchMissing(missing: readonly TrackedAttempt[], finalized: BlockHeader | undefined): void {
    if (finalized === undefined) return;
    for (const tracked of missing) {
      this.#searches.start(`${tracked.accountNonce}`, '', () => this.#search(tracked, finalized));
    }
  }

  async #search(tracked: TrackedAttempt, finalized: BlockHeader): Promise<Finding> {
    const { reader } = this.options;
    if (tracked.accountNonce >= (await reader.finalNonces(finalized))) {
      return { kind: 'nothing', tracked };
    }
    const seen = await reader.lookEverywhere(tracked);
    return seen === undefined ? { kind: 'gone', tracked } : { kind: 'found', tracked, seen };
  }

  /** Searches attempts that the head's endpoint may hide at all others, the oldest first. */
  #searchHidden(
    waiting: readonly TrackedAttempt[],
    reportedUsed: ReadonlySet<TrackedAttempt>,
    { latest }: Head,
  ): void {
    const isLate = ({ attempt }: TrackedAttempt): boolean =>
      latest.number - attempt.allocatedAtBlock >= HIDDEN_BLOCKS;
    const hidden = waiting.filter((tracked) => reportedUsed.has(tracked) || isLate(tracked));
    for (const tracked of hidden.slice(0, HIDDEN_MOST)) {
      this.#searches.start(`${tracked.accountNonce}`, '', async () => {
        const seen = await this.options.reader.lookEverywhere(tracked);
        return seen === undefined ? { kind: 'unseen' } : { kind: 'found', tracked, seen };
      });
    }
  }

  /** Gaps, and a chain ahead of the lane: both begin with doubt about one node's count. */
  #doubtCount(usedNonces: number): void {
    const { state, clock, chain, signer } = this.options;
    const now = clock.steady();
    const isAhead = usedNonces > state.next;
    const hasGap = state.gapsFrom(usedNonces, 1).length > 0;
    state.hasGap = hasGap && this.#gapSince !== undefined;
    if (!hasGap && !state.isFinalBeyond(usedNonces)) this.#gapSince = undefined;
    else this.#gapSince ??= now;
    const isOldGap = this.#gapSince !== undefined && now - this.#gapSince >= BELIEVED_AFTER_MS;
    if (!(isAhead || isOldGap) || now < this.#doubtsUntil) return;
    // An attempt that ends from now on may be missing from the count that is asked for here.
    const missing = state.missingFrom(usedNonces, GAPS_MOST + 1);
    this.#searches.start(COUNT, '', async () => {
      const { latest } = await chain.transactionCount(signer);
      return { kind: 'counted', used: latest, missing };
    });
  }

  async #collect(held: HeldLane, head: Head): Promise<void> {
    for (const result of this.#searches.collect()) {
      if (result.kind === 'failed' && !isTransient(result.error)) throw result.error;
      if (result.kind === 'done') await this.#conclude(held, result.value, head);
    }
  }

  async #conclude(held: HeldLane, finding: Finding, head: Head): Promise<void> {
    const { state, confirmer, clock } = this.options;
    switch (finding.kind) {
      case 'unseen':
        return;
      case 'nothing':
        finding.tracked.missingSince = undefined;
        return;
      case 'counted':
        await this.#correct(held, finding, head);
        return;
      case 'found':
        finding.tracked.missingSince = undefined;
        confirmer.found(finding.tracked, finding.seen);
        return;
      case 'gone': {
        const { tracked } = finding;
        const isOurs = state.get(tracked.accountNonce) === tracked;
        if (!isOurs || tracked.inclusion !== undefined) return;
        // Checked twice, because a receipt may come a moment after the block.
        tracked.missingSince ??= clock.steady();
        if (clock.steady() - tracked.missingSince < BELIEVED_AFTER_MS) return;
        await this.#giveUpNonce(held, tracked);
      }
    }
  }

  async #giveUpNonce(held: HeldLane, tracked: TrackedAttempt): Promise<void> {
    const { observer, confirmer, endings, outcomes, state } = this.options;
    const { accountNonce, sentSince, payments } = tracked;
    observer.nonceUsedByOther(held.lane, accountNonce);
    await confirmer.forget(held, tracked);
    if (payments.size > 0) {
      await endings.requeue(held, accountNonce, sentSince, [...payments.keys()]);
    }
    await outcomes.close(held, tracked);
    state.work.notify();
  }

  async #correct(held: HeldLane, { used, missing }: Counted, head: Head): Promise<void> {
    const { state, leases, broadcaster, clock } = this.options;
    if (used > state.next)
      throw new ReopenLane('the chain counts more account nonces than the lane');
    const gaps = missing.filter((nonce) => nonce >= used && state.get(nonce) === undefined);
    const [first] = gaps;
    if (first === undefined) {
      this.#doubtsUntil = clock.steady() + DOUBT_MS;
      return;
    }
    state.notFinalFrom(first);
    if (gaps.length > GAPS_MOST) {
      // No transaction was ever signed for them, so they are allocated again.
      if (!(await leases.setNext(held, state.next, used))) throw new ReopenLane('another nonce');
      state.next = used;
      return;
    }
    const until = clock.steady() + PUSH_MS;
    for (const nonce of gaps) {
      if (clock.steady() > until) break;
      const filler = await broadcaster.fillGap(held, nonce, head);
      if (filler !== undefined) state.filled(filler);
      // There is no gas for it now, so the nodes are not asked again at once.
      else this.#doubtsUntil = clock.steady() + DOUBT_MS;
    }
  }
}

/** Attempts whose nonce a node reported as used since the last call. */
function takeNonceReportedUsed(attempts: readonly TrackedAttempt[]): ReadonlySet<TrackedAttempt> {
  const reported = attempts.filter(({ isNonceReportedUsed }) => isNonceReportedUsed);
  for (const tracked of reported) tracked.isNonceReportedUsed = false;
  return new Set(reported);
}

const LOOK_AGAIN_FIRST_MS = 50;
const LOOK_AGAIN_MOST_MS = 500;

/** Paces repeated looks at one block: less and less often. */
class LookPace {
  #waitMs = 0;
  #at: number | undefined;

  /** Whether something is being looked for. */
  get isOn(): boolean {
    return this.#at !== undefined;
  }

  /** @param now - milliseconds of a steady clock. */
  isDue(now: number): boolean {
    return this.#at !== undefined && now >= this.#at;
  }

  /** After a look. */
  note(isMissing: boolean, now: number): void {
    this.#waitMs = isMissing
      ? Math.min(Math.max(2 * this.#waitMs, LOOK_AGAIN_FIRST_MS), LOOK_AGAIN_MOST_MS)
      : 0;
    this.#at = isMissing ? now + this.#waitMs : undefined;
  }
}
