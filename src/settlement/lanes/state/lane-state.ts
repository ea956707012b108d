import type { Clock } from '../../../platform/concurrency/clock.js';
import { Signal } from '../../../platform/concurrency/signal.js';
import type { RememberedAttempt } from '../../ledger/lane-store.js';
import type { LaneCondition } from '../../model/lane-status.js';
import type { TrackedAttempt } from './tracked-attempt.js';

/** How long a lane remembers that its batches were too large. */
const BATCH_LIMIT_MS = 10 * 60_000;
/** How long a lane is short after it was offered what costs more than it has: it is offered it again in between. */
const SHORT_MS = 5000;

/** The state of a lane. Only this class holds it. */
export class LaneState {
  /** Notified when there may be something to send. */
  readonly work = new Signal();
  /** Notified when there may be something to follow. */
  readonly changed = new Signal();
  #attempts = new Map<number, TrackedAttempt>();
  #window: LaneWindow;
  #next = 0;
  /** Account nonces below this are final: nothing of them is missing. */
  #finalBelow = 0;
  #condition: LaneCondition | undefined = 'resyncing';
  #recoveries = 0;
  #batchLimit = { items: Number.POSITIVE_INFINITY, until: 0 };
  #shortUntil = 0;
  isPaused = false;
  /** By an operator; its process may have another reason to retire it. */
  isRetired = false;
  /** Whether account nonces are missing below those in flight. */
  hasGap = false;

  /** @param onConditionChange - called when its condition has changed. */
  constructor(
    private readonly windowMax: number,
    private readonly onConditionChange: () => void,
    private readonly clock: Clock,
  ) {
    this.#window = new LaneWindow(windowMax, false);
  }

  /** Starts with the state that ledger and chain show. */
  open(attempts: readonly TrackedAttempt[], isSignerWithCode: boolean): void {
    this.#recoveries += 1;
    this.#attempts = new Map(attempts.map((tracked) => [tracked.accountNonce, tracked]));
    this.#window = new LaneWindow(this.windowMax, isSignerWithCode);
    this.#finalBelow = 0;
    this.hasGap = false;
  }

  /** Changes with every recovery: work from before must not continue after it. */
  get recoveries(): number {
    return this.#recoveries;
  }

  // ---------------------------------------------------------------- attempts

  /** All that are not final yet, by account nonce. */
  get attempts(): readonly TrackedAttempt[] {
    return [...this.#attempts.values()];
  }

  get pending(): readonly TrackedAttempt[] {
    return this.attempts.filter(({ inclusion }) => inclusion === undefined);
  }

  get mined(): readonly TrackedAttempt[] {
    return this.attempts.filter(({ inclusion }) => inclusion !== undefined);
  }

  get hasAttempts(): boolean {
    return this.#attempts.size > 0;
  }

  get(accountNonce: number): TrackedAttempt | undefined {
    return this.#attempts.get(accountNonce);
  }

  /** An attempt with the next account nonce is stored. */
  allocated(tracked: TrackedAttempt): void {
    this.#attempts.set(tracked.accountNonce, tracked);
    this.#next = tracked.accountNonce + 1;
  }

  /** An attempt below the next account nonce is stored. */
  filled(tracked: TrackedAttempt): void {
    const all = [...this.#attempts, [tracked.accountNonce, tracked] as const];
    this.#attempts = new Map(all.sort(([a], [b]) => a - b));
  }

  /** Its nonce is final, and all its settlements are resolved. */
  closed(accountNonce: number): void {
    this.#attempts.delete(accountNonce);
    this.#finalBelow = Math.max(this.#finalBelow, accountNonce + 1);
  }

  /** The attempts to store again in a ledger that lost writes. */
  get remembered(): readonly RememberedAttempt[] {
    return this.attempts.map(({ attempt, payments }) => ({ attempt, payments: new Map(payments) }));
  }

  // ---------------------------------------------------------------- account nonces

  get next(): number {
    return this.#next;
  }

  set next(next: number) {
    this.#next = next;
  }

  /**
   * Allocated account nonces without a stored transaction, which block those above them.
   *
   * @param usedNonces - what the chain counts.
   */
  gapsFrom(usedNonces: number, most: number): readonly number[] {
    return this.missingFrom(Math.max(usedNonces, this.#finalBelow), most);
  }

  /** The same, with those that this lane took for final. */
  missingFrom(usedNonces: number, most: number): readonly number[] {
    const missing: number[] = [];
    for (let nonce = usedNonces; nonce < this.#next && missing.length < most; nonce += 1) {
      if (!this.#attempts.has(nonce)) missing.push(nonce);
    }
    return missing;
  }

  /** Whether the chain counts fewer nonces than this lane considered final: these block those above them. */
  isFinalBeyond(usedNonces: number): boolean {
    return usedNonces < this.#finalBelow;
  }

  /** Account nonces from this one on were taken for final, and are not used. */
  notFinalFrom(accountNonce: number): void {
    this.#finalBelow = Math.min(this.#finalBelow, accountNonce);
  }

  // ---------------------------------------------------------------- window

  /** Attempts that no block has taken yet. */
  get inFlight(): number {
    let count = 0;
    for (const { inclusion } of this.#attempts.values()) if (inclusion === undefined) count += 1;
    return count;
  }

  get hasRoom(): boolean {
    return this.inFlight < this.#window.size;
  }

  get windowSize(): number {
    return this.#window.size;
  }

  /** @param smooth - attempts that a block has just taken within a block or two of being sent. */
  blockTook(smooth: number): void {
    this.#window.grow(smooth);
    this.work.notify();
  }

  stalled(): void {
    this.#window.shrink();
  }

  /** No pool accepts this many settlements in one transaction. For a while batches are smaller. */
  tooLarge(items: number): void {
    const until = this.clock.steady() + BATCH_LIMIT_MS;
    this.#batchLimit = { items: Math.max(1, Math.floor(items / 2)), until };
  }

  /** Settlements that go into one transaction at most. */
  get batchMost(): number {
    const { items, until } = this.#batchLimit;
    return this.clock.steady() < until ? items : Number.POSITIVE_INFINITY;
  }

  // ---------------------------------------------------------------- money

  /** Something that costs more than the lane has could not be sent. */
  fellShort(): void {
    this.#shortUntil = this.clock.steady() + SHORT_MS;
  }

  /** Whether something costs more than the lane has; it may still afford other things. */
  get isShort(): boolean {
    return this.clock.steady() < this.#shortUntil;
  }

  // ---------------------------------------------------------------- condition

  get condition(): LaneCondition | undefined {
    if (this.isPaused) return 'paused';
    return this.#condition ?? (this.hasGap && this.hasAttempts ? 'nonce_gap' : undefined);
  }

  set condition(condition: LaneCondition | undefined) {
    if (condition === this.#condition) return;
    this.#condition = condition;
    this.onConditionChange();
  }
}

/** Initial limit of attempts in flight: enough for a busy start, few enough to repair by hand. */
const WINDOW_START = 16;

/**
 * The limit of attempts in flight: it grows while the chain includes them smoothly, and halves when it stalls. A signer
 * with code (EIP-7702) has one, because nodes accept only one pending transaction of such an account.
 */
export class LaneWindow {
  #size: number;

  constructor(
    private readonly max: number,
    private readonly isSignerWithCode: boolean,
  ) {
    this.#size = isSignerWithCode ? 1 : Math.min(WINDOW_START, max);
  }

  get size(): number {
    return this.#size;
  }

  /** @param count - attempts that a block has just included within a block or two of being sent. */
  grow(count: number): void {
    if (!this.isSignerWithCode) this.#size = Math.min(this.max, this.#size + count);
  }

  shrink(): void {
    this.#size = Math.max(1, Math.floor(this.#size / 2));
  }
}
