import type { Address, Hex } from 'viem';
import type { AcceptedPayment } from '../../../../src/protocol/payment/accepted-payment.js';
import type {
  AllocateResult,
  Ending,
  FillResult,
  FinishResult,
  FundResult,
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
} from '../../../../src/settlement/ledger/lane-store.js';
import type { Attempt, KnownFunding } from '../../../../src/settlement/model/attempt.js';
import { isFinishedStage, STATE_OF } from '../../../../src/settlement/model/settlement-machine.js';
import type { PlacesInUse } from '../../../../src/settlement/model/sponsoring-machine.js';
import { MemoryAttempts } from './memory-attempts.js';
import { type Claim, MemoryClaims } from './memory-claims.js';
import { MemoryGas } from './memory-gas.js';
import { MemoryLanes } from './memory-lanes.js';
import { MemoryRefills } from './memory-refills.js';

/** The ledger as lanes use it, in memory: for tests of lanes, kept true by a suite that it shares. */
export class MemoryLaneStore implements LaneStore {
  readonly claims: MemoryClaims;
  readonly gas: MemoryGas;
  readonly reverts = new Map<Address, number>();
  readonly paused = new Set<string>();
  readonly retiring = new Set<string>();
  readonly refills: MemoryRefills;
  readonly #lanes: MemoryLanes;
  readonly #attempts: MemoryAttempts;
  readonly #credits = new Map<string, string>();
  readonly #listeners = new Set<() => void>();

  constructor(private readonly now: () => number) {
    this.#lanes = new MemoryLanes(now);
    this.claims = new MemoryClaims(now, (payer) => {
      this.#blame(payer);
    });
    this.gas = new MemoryGas((id) => this.claims.mustHave(id).payment);
    const { claims, gas, paused } = this;
    this.#attempts = new MemoryAttempts({ lanes: this.#lanes, claims, gas, paused });
    this.refills = new MemoryRefills({ lanes: this.#lanes, gas, paused });
  }

  attemptsOf(lane: string): readonly Attempt[] {
    return [...this.#lanes.get(lane).attempts.values()];
  }

  /** What is there at this moment, to go back to. */
  snapshot(): () => void {
    const parts = [this.#lanes, this.claims, this.gas, this.#attempts].map((part) =>
      part.snapshot(),
    );
    return () => {
      for (const goBack of parts) goBack();
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
    return Promise.resolve(this.#lanes.acquire(lane, chainId, processId, leaseMs));
  }

  renew(held: HeldLane, leaseMs: number): Promise<void> {
    return this.#lanes.renew(held, leaseMs);
  }

  release(held: HeldLane): Promise<void> {
    return this.#lanes.release(held);
  }

  orphans(chainId: number, ownLanes: readonly string[]): Promise<readonly string[]> {
    return Promise.resolve(this.#lanes.orphans(chainId, ownLanes));
  }

  // ---------------------------------------------------------------- opening

  open(held: HeldLane): Promise<OpenedLane> {
    return this.#lanes.step(held, ({ next, attempts }) => {
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
    return this.#lanes.step(held, (lane) => {
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
    return this.#lanes.step(held, (lane) => {
      lane.next = Math.max(lane.next ?? 0, next);
      for (const { attempt, payments } of remembered) {
        const stored = lane.attempts.get(attempt.accountNonce);
        const known = new Set(stored?.transactions.map(({ hash }) => hash));
        const missing = attempt.transactions.filter(({ hash }) => !known.has(hash));
        const transactions = [...(stored?.transactions ?? []), ...missing];
        lane.attempts.set(attempt.accountNonce, { ...attempt, ...stored, transactions });
        this.#attempts.restoreFunding(held, attempt);
        this.refills.restore(held, attempt);
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

  take(
    held: HeldLane,
    most: number,
    isRetiring = false,
    places?: PlacesInUse,
  ): Promise<TakenSettlement[]> {
    return this.#lanes.step(held, () =>
      this.paused.has(held.lane)
        ? []
        : this.claims.take(held, most, isRetiring || this.retiring.has(held.lane), places),
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
    return this.#attempts.allocate(held, attempt, budget);
  }

  fund(held: HeldLane, attempt: Attempt, budget: GasBudget): Promise<FundResult> {
    return this.#attempts.fund(held, attempt, budget);
  }

  fundingOf(chainId: number, payer: Address): Promise<KnownFunding | undefined> {
    return Promise.resolve(this.#attempts.fundingOf(chainId, payer));
  }

  replace(held: HeldLane, attempt: Attempt, budget: GasBudget): Promise<ReplaceResult> {
    return this.#attempts.replace(held, attempt, budget);
  }

  fillGap(held: HeldLane, attempt: Attempt, budget: GasBudget): Promise<FillResult> {
    return this.#attempts.fillGap(held, attempt, budget);
  }

  closeAttempt(held: HeldLane, accountNonce: number, costWei: bigint): Promise<void> {
    return this.#attempts.closeAttempt(held, accountNonce, costWei);
  }

  include(
    held: HeldLane,
    accountNonce: number,
    block: InclusionBlock,
    _: number,
    items: readonly { readonly id: string; readonly logIndex: number }[],
  ): Promise<void> {
    return this.#attempts.include(held, accountNonce, block, items);
  }

  uninclude(held: HeldLane, accountNonce: number, ids: readonly string[]): Promise<void> {
    return this.#attempts.uninclude(held, accountNonce, ids);
  }

  // ---------------------------------------------------------------- endings

  finish(
    held: HeldLane,
    accountNonce: number | undefined,
    endings: readonly Ending[],
  ): Promise<FinishResult> {
    return this.#attempts.finish(held, accountNonce, endings);
  }

  requeue(
    held: HeldLane,
    accountNonce: number,
    sinceBlock: bigint,
    ids: readonly string[],
  ): Promise<void> {
    return this.#attempts.requeue(held, accountNonce, sinceBlock, ids);
  }

  park(
    held: HeldLane,
    accountNonce: number | undefined,
    sinceBlock: bigint,
    parkings: readonly Parking[],
  ): Promise<void> {
    return this.#attempts.park(held, accountNonce, sinceBlock, parkings);
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
    this.#blame(payer);
    return Promise.resolve();
  }

  #blame(payer: Address): void {
    this.reverts.set(payer, (this.reverts.get(payer) ?? 0) + 1);
  }

  onEpochChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #stepInWork(
    held: HeldLane,
    ids: readonly string[],
    change: (claim: Claim) => unknown,
  ): Promise<void> {
    return this.#lanes.step(held, () => {
      for (const claim of this.claims.inWork(held.lane, ids)) change(claim);
    });
  }
}

const UNPAID = 'finalized_unpaid_reverted';
