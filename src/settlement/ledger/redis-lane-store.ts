import type { Address, Hex } from 'viem';
import type { LedgerConnections } from '../../platform/redis/ledger-connections.js';
import type { AcceptedPayment } from '../../protocol/payment/accepted-payment.js';
import type { Attempt, KnownFunding } from '../model/attempt.js';
import type { PlacesInUse } from '../model/sponsoring-machine.js';
import type { LedgerEpochs } from './epoch.js';
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
  SweepResult,
  TakenSettlement,
  Unparking,
} from './lane-store.js';
import { LaneStepRunner, type LedgerLifetimes } from './redis-lanes/lane-step-runner.js';
import { RedisLaneAttempts } from './redis-lanes/redis-lane-attempts.js';
import { RedisLaneLeases } from './redis-lanes/redis-lane-leases.js';
import { RedisLaneOutcomes } from './redis-lanes/redis-lane-outcomes.js';
import { RedisLaneQueue } from './redis-lanes/redis-lane-queue.js';
import { NO_ARCHIVE, type SettlementArchive } from './settlement-archive.js';

/** {@link LaneStore} in Redis. Every step is in the part that its idea belongs to. */
export class RedisLaneStore implements LaneStore {
  readonly #runner: LaneStepRunner;
  readonly #leases: RedisLaneLeases;
  readonly #queue: RedisLaneQueue;
  readonly #attempts: RedisLaneAttempts;
  readonly #outcomes: RedisLaneOutcomes;

  /** @param archive - what had left the ledger is not made again. */
  constructor(
    ledger: LedgerConnections,
    epochs: LedgerEpochs,
    lifetimes: LedgerLifetimes,
    archive: SettlementArchive = NO_ARCHIVE,
  ) {
    this.#runner = new LaneStepRunner(ledger, epochs, lifetimes);
    this.#leases = new RedisLaneLeases(this.#runner, archive);
    this.#queue = new RedisLaneQueue(this.#runner);
    this.#attempts = new RedisLaneAttempts(this.#runner);
    this.#outcomes = new RedisLaneOutcomes(this.#runner);
  }

  acquire(
    lane: string,
    chainId: number,
    processId: string,
    leaseMs: number,
  ): Promise<HeldLane | undefined> {
    return this.#runner.acquire(lane, chainId, processId, leaseMs);
  }

  renew(held: HeldLane, leaseMs: number): Promise<void> {
    return this.#leases.renew(held, leaseMs);
  }

  release(held: HeldLane): Promise<void> {
    return this.#leases.release(held);
  }

  orphans(chainId: number, ownLanes: readonly string[]): Promise<readonly string[]> {
    return this.#leases.orphans(chainId, ownLanes);
  }

  open(held: HeldLane): Promise<OpenedLane> {
    return this.#leases.open(held);
  }

  setNext(held: HeldLane, known: number | undefined, next: number): Promise<boolean> {
    return this.#leases.setNext(held, known, next);
  }

  restoreAttempts(
    held: HeldLane,
    attempts: readonly RememberedAttempt[],
    next: number,
  ): Promise<void> {
    return this.#leases.restoreAttempts(held, attempts, next);
  }

  paymentsOf(
    chainId: number,
    ids: readonly string[],
  ): Promise<ReadonlyMap<string, AcceptedPayment>> {
    return this.#queue.paymentsOf(chainId, ids);
  }

  finishedOf(chainId: number, ids: readonly string[]): Promise<readonly string[]> {
    return this.#queue.finishedOf(chainId, ids);
  }

  ready(chainId: number, ids: readonly string[]): Promise<number> {
    return this.#queue.ready(chainId, ids);
  }

  overdue(chainId: number, ageMs: number, most: number): Promise<readonly string[]> {
    return this.#queue.overdue(chainId, ageMs, most);
  }

  sweep(chainId: number, most: number): Promise<SweepResult> {
    return this.#queue.sweep(chainId, most);
  }

  take(
    held: HeldLane,
    most: number,
    isRetiring?: boolean,
    places?: PlacesInUse,
  ): Promise<TakenSettlement[]> {
    return this.#queue.take(held, most, isRetiring, places);
  }

  giveBack(held: HeldLane, ids: readonly string[]): Promise<void> {
    return this.#queue.giveBack(held, ids);
  }

  postpone(held: HeldLane, ids: readonly string[], delayMs: number): Promise<void> {
    return this.#queue.postpone(held, ids, delayMs);
  }

  refuse(held: HeldLane, refusals: readonly Refusal[]): Promise<void> {
    return this.#queue.refuse(held, refusals);
  }

  allocate(held: HeldLane, attempt: Attempt, budget: GasBudget): Promise<AllocateResult> {
    return this.#attempts.allocate(held, attempt, budget);
  }

  fund(held: HeldLane, attempt: Attempt, budget: GasBudget): Promise<FundResult> {
    return this.#attempts.fund(held, attempt, budget);
  }

  fundingOf(chainId: number, payer: Address): Promise<KnownFunding | undefined> {
    return this.#attempts.fundingOf(chainId, payer);
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
    batchSize: number,
    items: readonly { readonly id: string; readonly logIndex: number }[],
  ): Promise<void> {
    return this.#attempts.include(held, accountNonce, block, batchSize, items);
  }

  uninclude(held: HeldLane, accountNonce: number, ids: readonly string[]): Promise<void> {
    return this.#attempts.uninclude(held, accountNonce, ids);
  }

  finish(
    held: HeldLane,
    accountNonce: number | undefined,
    endings: readonly Ending[],
  ): Promise<FinishResult> {
    return this.#outcomes.finish(held, accountNonce, endings);
  }

  requeue(
    held: HeldLane,
    accountNonce: number,
    sinceBlock: bigint,
    ids: readonly string[],
  ): Promise<void> {
    return this.#outcomes.requeue(held, accountNonce, sinceBlock, ids);
  }

  park(
    held: HeldLane,
    accountNonce: number | undefined,
    sinceBlock: bigint,
    parkings: readonly Parking[],
  ): Promise<void> {
    return this.#outcomes.park(held, accountNonce, sinceBlock, parkings);
  }

  dueParked(chainId: number, most: number): Promise<readonly ParkedSettlement[]> {
    return this.#outcomes.dueParked(chainId, most);
  }

  parkedCount(chainId: number): Promise<number> {
    return this.#outcomes.parkedCount(chainId);
  }

  unpark(chainId: number, unparkings: readonly Unparking[]): Promise<FinishResult> {
    return this.#outcomes.unpark(chainId, unparkings);
  }

  credit(chainId: number, transaction: Hex, logIndex: number, id: string): Promise<boolean> {
    return this.#outcomes.credit(chainId, transaction, logIndex, id);
  }

  noteRevert(chainId: number, payer: Address): Promise<void> {
    return this.#outcomes.noteRevert(chainId, payer);
  }

  onEpochChange(listener: () => void): () => void {
    return this.#runner.onEpochChange(listener);
  }
}
