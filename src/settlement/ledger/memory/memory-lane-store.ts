import type { Address, Hex } from 'viem';
import { LeaseLostError, LedgerEpochChangedError } from '../../../protocol/errors.js';
import type { AcceptedPayment } from '../../../protocol/payment/accepted-payment.js';
import type { Attempt } from '../../model/attempt.js';
import { isFinishedStage, STATE_OF } from '../../model/settlement-machine.js';
import type {
  AllocateResult,
  Ending,
  FinishResult,
  FillResult,
  GasBudget,
  HeldLane,
  InclusionBlock,
  LaneStore,
  OpenedLane,
  ParkedSettlement,
  Parking,
  Refusal,
  RememberedAttempt,
  ReplaceResult,
  StoredSettlement,
  SweepResult,
  TakenSettlement,
  Unparking,
} from '../lane-store.js';
import { type Claim, MemoryClaims } from './memory-claims.js';
import { MemoryGas } from './memory-gas.js';

interface Lane {
  lease: { readonly text: string; readonly processId: string; until: number } | undefined;
  next: number | undefined;
  readonly attempts: Map<number, Attempt>;
}

/** The ledger as lanes use it, in memory: for tests of lanes, kept true by a suite that it shares. */
export class MemoryLaneStore implements LaneStore {
  readonly claims: MemoryClaims;
  readonly gas: MemoryGas;
  readonly reverts = new Map<Address, number>();
  readonly paused = new Set<string>();
  #lanes = new Map<string, Lane>();
  readonly #credits = new Map<string, string>();
  readonly #listeners = new Set<() => void>();
  #leases = 0;
  #epoch = 'epoch';

  constructor(private readonly now: () => number) {
    this.claims = new MemoryClaims(now);
    this.gas = new MemoryGas((id) => this.claims.mustHave(id).payment);
  }

  attemptsOf(lane: string): readonly Attempt[] {
    return [...this.#lane(lane).attempts.values()];
  }

  /** What is there at this moment, to go back to. */
  snapshot(): () => void {
    const lanes = structuredClone(this.#lanes);
    const parts = [this.claims.snapshot(), this.gas.snapshot()];
    return () => {
      this.#lanes = lanes;
      for (const goBack of parts) goBack();
      this.#epoch += '+';
      for (const listener of this.#listeners) listener();
    };
  }

  // ---------------------------------------------------------------- leases

  acquire(
    lane: string,
    chainId: number,
    processId: string,
    leaseMs: number,
  ): Promise<HeldLane | undefined> {
    const record = this.#lane(lane);
    const { lease } = record;
    if (lease !== undefined && lease.until > this.now() && lease.processId !== processId) {
      return Promise.resolve(undefined);
    }
    this.#leases += 1;
    const text = `${processId}:${this.#leases}`;
    record.lease = { text, processId, until: this.now() + leaseMs };
    return Promise.resolve({ lane, chainId, lease: text, epoch: this.#epoch });
  }

  renew(held: HeldLane, leaseMs: number): Promise<void> {
    return this.#step(held, ({ lease }) => {
      if (lease !== undefined) lease.until = this.now() + leaseMs;
    });
  }

  release(held: HeldLane): Promise<void> {
    return this.#step(held, (lane) => {
      lane.lease = undefined;
    });
  }

  orphans(chainId: number, ownLanes: readonly string[]): Promise<readonly string[]> {
    const free = [...this.#lanes].filter(
      ([name, { lease, attempts }]) =>
        name.startsWith(`${chainId}:`) &&
        !ownLanes.includes(name) &&
        attempts.size > 0 &&
        (lease === undefined || lease.until <= this.now()),
    );
    return Promise.resolve(free.map(([name]) => name));
  }

  // ---------------------------------------------------------------- opening

  open(held: HeldLane): Promise<OpenedLane> {
    return this.#step(held, ({ next, attempts }) => {
      for (const claim of this.claims.allInWork(held.lane)) this.claims.move(claim, 'given_back');
      const all = [...attempts.values()].sort((a, b) => a.accountNonce - b.accountNonce);
      const ids = all.flatMap(({ settlementIds }) => settlementIds);
      const settlements = ids.flatMap((id): [string, StoredSettlement][] => {
        const claim = this.claims.get(id);
        if (claim === undefined || claim.stage === 'none' || claim.lane !== held.lane) return [];
        if (isFinishedStage(claim.stage)) return [];
        const { payment, accountNonce, inclusion, isCollectedAgain, stage } = claim;
        const state = STATE_OF[stage];
        return [[id, { id, payment, state, accountNonce, inclusion, isCollectedAgain }]];
      });
      return { next, attempts: all, settlements: new Map(settlements) };
    });
  }

  setNext(held: HeldLane, known: number | undefined, next: number): Promise<boolean> {
    return this.#step(held, (lane) => {
      if (lane.next !== known) return false;
      lane.next = next;
      return true;
    });
  }

  restoreAttempts(
    held: HeldLane,
    remembered: readonly RememberedAttempt[],
    next: number,
  ): Promise<void> {
    return this.#step(held, (lane) => {
      lane.next = Math.max(lane.next ?? 0, next);
      for (const { attempt, payments } of remembered) {
        const stored = lane.attempts.get(attempt.accountNonce);
        const known = new Set(stored?.transactions.map(({ hash }) => hash));
        const missing = attempt.transactions.filter(({ hash }) => !known.has(hash));
        const transactions = [...(stored?.transactions ?? []), ...missing];
        lane.attempts.set(attempt.accountNonce, { ...attempt, ...stored, transactions });
        for (const [id, payment] of payments) this.claims.restore(id, payment, held.lane, attempt);
      }
    });
  }

  // ---------------------------------------------------------------- the queue

  paymentsOf(_: number, ids: readonly string[]): Promise<ReadonlyMap<string, AcceptedPayment>> {
    return Promise.resolve(this.claims.paymentsOf(ids));
  }

  finishedOf(_: number, ids: readonly string[]): Promise<readonly string[]> {
    return Promise.resolve(this.claims.finishedOf(ids));
  }

  ready(_: number, ids: readonly string[]): Promise<number> {
    return Promise.resolve(this.claims.ready(ids));
  }

  overdue(chainId: number, ageMs: number, most: number): Promise<readonly string[]> {
    return Promise.resolve(this.claims.overdue(chainId, ageMs, most));
  }

  sweep(chainId: number, most: number): Promise<SweepResult> {
    return Promise.resolve(this.claims.sweep(chainId, most));
  }

  take(held: HeldLane, most: number): Promise<TakenSettlement[]> {
    return this.#step(held, () =>
      this.paused.has(held.lane) ? [] : this.claims.take(held.chainId, held.lane, most),
    );
  }

  giveBack(held: HeldLane, ids: readonly string[]): Promise<void> {
    return this.#stepInWork(held, ids, (claim) => this.claims.move(claim, 'given_back'));
  }

  postpone(held: HeldLane, ids: readonly string[], delayMs: number): Promise<void> {
    return this.#stepInWork(held, ids, (claim) => {
      this.claims.move(claim, 'postponed');
      claim.tries += 1;
      claim.dueAt = this.now() + delayMs;
    });
  }

  refuse(held: HeldLane, refusals: readonly Refusal[]): Promise<void> {
    const reasons = new Map(refusals.map(({ id, reason }) => [id, reason]));
    return this.#stepInWork(held, [...reasons.keys()], (claim) => {
      claim.reason = reasons.get(claim.id);
      if (claim.isCollectedAgain) this.claims.collect(claim);
      else this.claims.move(claim, claim.hashes.length === 0 ? 'refused' : UNPAID);
    });
  }

  // ---------------------------------------------------------------- attempts

  allocate(held: HeldLane, attempt: Attempt, budget: GasBudget): Promise<AllocateResult> {
    return this.#step(held, (lane): AllocateResult => {
      if (this.paused.has(held.lane)) return { kind: 'paused' };
      if (lane.next !== attempt.accountNonce) return { kind: 'nonce' };
      const claims = this.claims.inWork(held.lane, attempt.settlementIds);
      if (claims.length < attempt.settlementIds.length) {
        const there = claims.map(({ id }) => id);
        return { kind: 'gone', ids: attempt.settlementIds.filter((id) => !there.includes(id)) };
      }
      const over = this.gas.charge(held, attempt, budget);
      if (over !== undefined) return over;
      lane.next = attempt.accountNonce + 1;
      lane.attempts.set(attempt.accountNonce, attempt);
      for (const claim of claims) {
        this.claims.move(claim, 'allocated');
        this.claims.bind(claim, held.lane, attempt);
      }
      return { kind: 'ok' };
    });
  }

  replace(held: HeldLane, attempt: Attempt, budget: GasBudget): Promise<ReplaceResult> {
    const { accountNonce, settlementIds } = attempt;
    return this.#step(held, (lane): ReplaceResult => {
      if (!lane.attempts.has(accountNonce)) throw new LeaseLostError(held.lane);
      const over = this.gas.charge(held, attempt, budget);
      if (over !== undefined) return over;
      lane.attempts.set(accountNonce, attempt);
      for (const claim of this.claims.bound(held.lane, accountNonce, settlementIds)) {
        if (this.claims.move(claim, 'replaced')) this.claims.bind(claim, held.lane, attempt);
      }
      return { kind: 'ok' };
    });
  }

  fillGap(held: HeldLane, attempt: Attempt, budget: GasBudget): Promise<FillResult> {
    const { accountNonce } = attempt;
    return this.#step(held, ({ next = 0, attempts }) => {
      if (accountNonce >= next || attempts.has(accountNonce)) return { kind: 'lost' };
      const over = this.gas.charge(held, attempt, budget);
      if (over !== undefined) return over;
      attempts.set(accountNonce, attempt);
      return { kind: 'ok' };
    });
  }

  closeAttempt(held: HeldLane, accountNonce: number, costWei: bigint): Promise<void> {
    return this.#step(held, ({ attempts }) => {
      attempts.delete(accountNonce);
      this.gas.close(held, accountNonce, costWei);
    });
  }

  include(
    held: HeldLane,
    accountNonce: number,
    { transaction, number, hash }: InclusionBlock,
    _: number,
    items: readonly { readonly id: string; readonly logIndex: number }[],
  ): Promise<void> {
    return this.#step(held, () => {
      for (const { id, logIndex } of items) {
        const [claim] = this.claims.bound(held.lane, accountNonce, [id]);
        if (claim === undefined || !this.claims.move(claim, 'included')) continue;
        claim.inclusion = { transaction, blockNumber: number, blockHash: hash, logIndex };
        claim.wasIncluded = true;
      }
    });
  }

  uninclude(held: HeldLane, accountNonce: number, ids: readonly string[]): Promise<void> {
    return this.#step(held, () => {
      for (const claim of this.claims.bound(held.lane, accountNonce, ids)) {
        if (this.claims.move(claim, 'block_replaced')) claim.inclusion = undefined;
      }
    });
  }

  // ---------------------------------------------------------------- endings

  finish(
    held: HeldLane,
    accountNonce: number | undefined,
    endings: readonly Ending[],
  ): Promise<FinishResult> {
    return this.#step(held, () => {
      const collectedAgain = endings.flatMap((ending) => {
        const claim = this.#ownClaim(held, accountNonce, ending.id);
        return claim !== undefined && this.claims.end(claim, ending) === 'again' ? [ending.id] : [];
      });
      return { collectedAgain };
    });
  }

  requeue(
    held: HeldLane,
    accountNonce: number,
    sinceBlock: bigint,
    ids: readonly string[],
  ): Promise<void> {
    return this.#step(held, () => {
      for (const claim of this.claims.bound(held.lane, accountNonce, ids)) {
        if (!this.claims.move(claim, 'finalized_unpaid_requeue')) continue;
        claim.sinceBlock ??= sinceBlock;
        this.claims.unbind(claim);
      }
    });
  }

  park(
    held: HeldLane,
    accountNonce: number | undefined,
    sinceBlock: bigint,
    parkings: readonly Parking[],
  ): Promise<void> {
    return this.#step(held, () => {
      for (const { id, why, retryAtMs } of parkings) {
        const claim = this.#ownClaim(held, accountNonce, id);
        if (claim === undefined || !this.claims.move(claim, 'parked')) continue;
        claim.sinceBlock ??= sinceBlock;
        claim.why = why;
        claim.dueAt = retryAtMs;
        this.claims.unbind(claim);
      }
    });
  }

  dueParked(chainId: number, most: number): Promise<readonly ParkedSettlement[]> {
    return Promise.resolve(this.claims.dueParked(chainId, most));
  }

  parkedCount(chainId: number): Promise<number> {
    return Promise.resolve(this.claims.of(chainId, 'parked').length);
  }

  unpark(_: number, unparkings: readonly Unparking[]): Promise<FinishResult> {
    return Promise.resolve(this.claims.unpark(unparkings));
  }

  // ---------------------------------------------------------------- the rest

  credit(chainId: number, transaction: Hex, logIndex: number, id: string): Promise<boolean> {
    const key = `${chainId}:${transaction}:${logIndex}`;
    const credited = this.#credits.get(key) ?? id;
    this.#credits.set(key, credited);
    return Promise.resolve(credited === id);
  }

  noteRevert(_: number, payer: Address): Promise<void> {
    this.reverts.set(payer, (this.reverts.get(payer) ?? 0) + 1);
    return Promise.resolve();
  }

  onEpochChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  // ---------------------------------------------------------------- inside

  #ownClaim(held: HeldLane, accountNonce: number | undefined, id: string): Claim | undefined {
    const [claim] =
      accountNonce === undefined
        ? this.claims.inWork(held.lane, [id])
        : this.claims.bound(held.lane, accountNonce, [id]);
    return claim;
  }

  #stepInWork(
    held: HeldLane,
    ids: readonly string[],
    change: (claim: Claim) => unknown,
  ): Promise<void> {
    return this.#step(held, () => {
      for (const claim of this.claims.inWork(held.lane, ids)) change(claim);
    });
  }

  #lane(name: string): Lane {
    const lane = this.#lanes.get(name) ?? {
      lease: undefined,
      next: undefined,
      attempts: new Map(),
    };
    this.#lanes.set(name, lane);
    return lane;
  }

  /** One step for a lane that is held; what it throws comes as a rejection. */
  async #step<T>({ lane, lease, epoch }: HeldLane, change: (lane: Lane) => T): Promise<T> {
    await Promise.resolve();
    if (epoch !== this.#epoch) throw new LedgerEpochChangedError(lane);
    const record = this.#lane(lane);
    const isOurs = record.lease?.text === lease && record.lease.until > this.now();
    if (!isOurs) throw new LeaseLostError(lane);
    return change(record);
  }
}

const UNPAID = 'finalized_unpaid_reverted';
