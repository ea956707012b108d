import type { Address, Hex } from 'viem';
import type { AcceptedPayment } from '../../protocol/payment/accepted-payment.js';
import type { Reason } from '../../protocol/reasons.js';
import type { Attempt, KnownFunding } from '../model/attempt.js';
import type { SettlementState } from '../model/settlement.js';
import type { PlacesInUse } from '../model/sponsoring-machine.js';

/**
 * The ledger as lanes use it, in four ports. Every method is one atomic step for each settlement it is given;
 * those of one call go to Redis together. All that take a {@link HeldLane} assert its lease and its epoch.
 *
 * @throws LeaseLostError from every method that takes a lane, when its lease is not ours any more:
 *   nothing was written.
 * @throws LedgerEpochChangedError when the ledger went back since (a failover, a restore, a flush):
 *   nothing was written. The lane is acquired again, and what it remembers is stored again.
 * @throws RedisUnavailableError from every method when Redis does not answer: the step may have
 *   been taken. Every step may be repeated.
 */
export interface LaneLedger {
  readonly leases: LaneLeases;
  readonly queue: LaneQueue;
  readonly attempts: LaneAttempts;
  readonly endings: LaneEndings;
}

/** Who writes a lane, and where the lane stands. */
export interface LaneLeases {
  /**
   * Takes a free lane, or one that this process holds already (its former lease ends).
   *
   * @returns `undefined` while another process holds it.
   */
  acquire(
    lane: string,
    chainId: number,
    processId: string,
    leaseMs: number,
  ): Promise<AcquiredLane | undefined>;

  renew(held: HeldLane, leaseMs: number): Promise<void>;

  release(held: HeldLane): Promise<void>;

  /** Lanes with stored attempts and no holder whose key this process does not have: it was taken out. */
  orphans(chainId: number, ownLanes: readonly string[]): Promise<readonly string[]>;

  /** Where the lane stands; what its former writer had taken and not signed is ready again. */
  open(held: HeldLane): Promise<OpenedLane>;

  /** @returns whether the record still named `known` and was set. */
  setNext(held: HeldLane, known: number | undefined, next: number): Promise<boolean>;

  /**
   * Stores what a lane still has in memory in a ledger that went back. Attempts that are stored stay as
   * they are but for transactions they lack. Records are set to broadcast with their hash; one that is
   * missing altogether is made again from the payment.
   *
   * @param next - the lane's next account nonce is raised to this, never lowered.
   */
  restoreAttempts(
    held: HeldLane,
    attempts: readonly RememberedAttempt[],
    next: number,
  ): Promise<void>;

  /**
   * Told when this process found that the ledger went back. Every lane is acquired and opened again.
   *
   * @returns how to stop listening.
   */
  onEpochChange(listener: () => void): () => void;
}

/** The way of settlements from their claim into a lane, and back. */
export interface LaneQueue {
  /** The payments of settlements that are not finished; the others are missing from the result. */
  paymentsOf(
    chainId: number,
    ids: readonly string[],
  ): Promise<ReadonlyMap<string, AcceptedPayment>>;

  /** Which of these are finished, or gone. */
  finishedOf(chainId: number, ids: readonly string[]): Promise<readonly string[]>;

  /** @returns how many of them are ready now that were not before. */
  ready(chainId: number, ids: readonly string[]): Promise<number>;

  /** Settlements claimed at least this long ago that no job brought here. */
  overdue(chainId: number, ageMs: number, most: number): Promise<readonly string[]>;

  /**
   * Makes ready the postponed settlements whose time has come, and expires those that are queued, were not taken and
   * are past their deadline. A payment that is final and without a sale for too long becomes unclaimed here. For any
   * worker of the chain; no lane is needed.
   *
   * @returns how many became ready, and which expired.
   */
  sweep(chainId: number, most: number): Promise<SweepResult>;

  /**
   * A fair round over the payees by order of arrival, of each the settlement with the earliest deadline. Settlements
   * that name another signer are left to it.
   *
   * A settlement that needs preparation is taken only for a free place: assets in turn, and of none more than
   * {@link mayHavePlace} allows.
   *
   * @param isRetiring - takes only settlements that name this signer.
   * @param places - all are free where it is absent.
   */
  take(
    held: HeldLane,
    most: number,
    isRetiring?: boolean,
    places?: PlacesInUse,
  ): Promise<TakenSettlement[]>;

  /** Makes taken settlements ready again that will not be sent now. */
  giveBack(held: HeldLane, ids: readonly string[]): Promise<void>;

  /** Makes taken settlements that could not be verified ready again in so many milliseconds, with one try more. */
  postpone(held: HeldLane, ids: readonly string[], delayMs: number): Promise<void>;

  /**
   * Refuses taken settlements before anything is signed. One that was never sent ends as withdrawn with the
   * reason, for minutes; one that was sent before ends as reverted; one that is being resubmitted is put
   * off instead.
   */
  refuse(held: HeldLane, refusals: readonly Refusal[]): Promise<void>;
}

/** The attempts of a lane, from the allocation of their account nonce to their block. */
export interface LaneAttempts {
  /** The account nonce, the signed bytes and what they carry, in one step, within the budgets. */
  allocate(held: HeldLane, attempt: Attempt, budget: GasBudget): Promise<AllocateResult>;

  /**
   * Allocates an account nonce for a `fund`, within the budgets, while the settlement that needs it is in
   * the lane's hands. That a payer was funded for a nonce is kept for ever.
   */
  fund(held: HeldLane, attempt: Attempt, budget: GasBudget): Promise<FundResult>;

  /** The last funding of a payer, by any lane. */
  fundingOf(chainId: number, payer: Address): Promise<KnownFunding | undefined>;

  /**
   * Stores a further transaction of an attempt, before it is sent, within the budgets: what it may cost
   * beyond what is charged already is reserved. It may carry fewer settlements than those before; the
   * others stay bound to the nonce until it is final.
   */
  replace(held: HeldLane, attempt: Attempt, budget: GasBudget): Promise<ReplaceResult>;

  /**
   * Stores a transaction for a nonce below the next one, of which nothing is stored, within the budget
   * of the lane.
   *
   * @returns `lost` where something is stored, or the nonce was never allocated.
   */
  fillGap(held: HeldLane, attempt: Attempt, budget: GasBudget): Promise<FillResult>;

  /** @param costWei - what the mined transaction of this nonce has cost us; none, if it was not ours. */
  closeAttempt(held: HeldLane, accountNonce: number, costWei: bigint): Promise<void>;

  include(
    held: HeldLane,
    accountNonce: number,
    block: InclusionBlock,
    batchSize: number,
    items: readonly PaidItem[],
  ): Promise<void>;

  /** The block was replaced: the same bytes are on their way again. */
  uninclude(held: HeldLane, accountNonce: number, ids: readonly string[]): Promise<void>;
}

/** How settlements end, or are parked until their outcome can be read. */
export interface LaneEndings {
  /** @param accountNonce - of their attempt; `undefined` for settlements taken and not sent again. */
  finish(
    held: HeldLane,
    accountNonce: number | undefined,
    endings: readonly Ending[],
  ): Promise<FinishResult>;

  /**
   * Back into the queue, each to be sent alone: its attempt is dead, or does not carry it any more and
   * is final.
   *
   * @param sinceBlock - a block before the attempt was broadcast.
   */
  requeue(
    held: HeldLane,
    accountNonce: number,
    sinceBlock: bigint,
    ids: readonly string[],
  ): Promise<void>;

  /**
   * Settlements whose outcome cannot be read leave the lane. They stay `broadcast`.
   *
   * @param accountNonce - of their attempt, which is final; `undefined` for settlements taken that were
   *   sent before.
   */
  park(
    held: HeldLane,
    accountNonce: number | undefined,
    sinceBlock: bigint,
    parkings: readonly Parking[],
  ): Promise<void>;

  /** Parked settlements whose time has come. They are this caller's for 30 seconds. */
  dueParked(chainId: number, most: number): Promise<readonly ParkedSettlement[]>;

  /** @returns how many are parked on the chain. */
  parkedCount(chainId: number): Promise<number>;

  unpark(chainId: number, unparkings: readonly Unparking[]): Promise<FinishResult>;

  /**
   * Credits a log of a transaction not ours to a settlement. One log is credited once, ever.
   *
   * @returns whether it is this settlement's.
   */
  credit(chainId: number, transaction: Hex, logIndex: number, id: string): Promise<boolean>;

  /**
   * Counts a settlement that reverted although its simulation was clean; forgotten after 10 minutes.
   *
   * @param blamed - see `Judge.blamedFor`.
   */
  noteRevert(chainId: number, blamed: string): Promise<void>;
}

/** A lane that this process writes: proof of the lease goes with every write. */
export interface HeldLane {
  /** `<chainId>:<signer>` */
  readonly lane: string;
  readonly chainId: number;
  /** `<processId>:<when it was acquired>`, compared as a whole. */
  readonly lease: string;
  /** The ledger's epoch at which it was acquired. Another one means that the ledger went back. */
  readonly epoch: string;
}

/** The process that had a lane before, and did not give it up. */
export interface FormerWriter {
  readonly processId: string;
  /** Milliseconds since it last renewed its lease. */
  readonly silentMs: number;
}

export interface AcquiredLane extends HeldLane {
  readonly from?: FormerWriter;
}

/** A settlement that a lane has taken from the ready set. */
export interface TakenSettlement {
  readonly id: string;
  readonly payment: AcceptedPayment;
  /** It shared a transaction that did not pay it; now it goes alone. */
  readonly goesAlone: boolean;
  /** How often it was put off because nothing could be said of it; see `LaneQueue.postpone`. */
  readonly tries: number;
  /** Its success was acknowledged: it is resubmitted until its deadline and never refused. */
  readonly isResubmitted: boolean;
  /** Present where an attempt carried it that is dead now. */
  readonly sentBefore?: SentBefore;
}

/** The remains of the attempts that did not settle a settlement. */
export interface SentBefore {
  /** A block before the first of them was broadcast, and the authorization unused. */
  readonly sinceBlock: bigint;
  readonly hashes: readonly Hex[];
}

/** Where a block holds a settlement, as the ledger has stored it. */
export interface StoredInclusion {
  readonly transaction: Hex;
  readonly blockNumber: bigint;
  readonly blockHash: Hex;
  /** Of the log that shows it; `undefined` where the state of the chain does. */
  readonly logIndex: number | undefined;
}

/** A settlement that a transaction paid. */
export type PaidItem = { readonly id: string } & Pick<StoredInclusion, 'logIndex'>;

/** A settlement of a stored attempt, as the former writer of the lane left it. */
export interface StoredSettlement {
  readonly id: string;
  readonly payment: AcceptedPayment;
  readonly state: SettlementState;
  /** The account nonce it is bound to. */
  readonly accountNonce: number | undefined;
  /** The inclusion as the ledger has it; the chain may have replaced that block since. */
  readonly inclusion: StoredInclusion | undefined;
  readonly isResubmitted: boolean;
}

export interface OpenedLane {
  /** Next account nonce; `undefined` when the lane has no record. */
  readonly next: number | undefined;
  /** By account nonce. */
  readonly attempts: readonly Attempt[];
  /** The settlements of those attempts that are not finished, by id. */
  readonly settlements: ReadonlyMap<string, StoredSettlement>;
}

/** Gas money, gwei. */
export interface GasBudget {
  /**
   * The most that this account nonce can cost over all its transactions, the new one included: at most
   * one of them is mined.
   */
  readonly costGwei: bigint;
  /** The daily budget of the lane; `undefined` for no limit. */
  readonly laneGwei: bigint | undefined;
  /** The daily budget of one payee. */
  readonly payeeGwei: bigint | undefined;
  /** The daily budget for transactions of payers, top-ups included; counts for a `fund` alone. */
  readonly fundingsGwei?: bigint | undefined;
  /** `2026-11-21`, UTC. What a nonce is charged with stays with the day of its allocation. */
  readonly day: string;
}

/** A budget would be exceeded. The subject is `lane`, `fundings` or the payee. Nothing was written. */
export interface OverBudget {
  readonly kind: 'budget';
  readonly subject: string;
}

export type AllocateResult =
  | { readonly kind: 'ok' }
  /** An operator has paused the lane; nothing was allocated. */
  | { readonly kind: 'paused' }
  /** The lane's record names another nonce than the bytes were signed with. */
  | { readonly kind: 'nonce' }
  /** These settlements are not in the queue any more; nothing was allocated. */
  | { readonly kind: 'gone'; readonly ids: readonly string[] }
  | OverBudget;

export type FundResult =
  | AllocateResult
  /** The payer was sent coins for a transaction of this nonce, or of a later one. Nothing was allocated. */
  | { readonly kind: 'funded' };

export type ReplaceResult = { readonly kind: 'ok' } | OverBudget;

export type FillResult = { readonly kind: 'ok' | 'lost' } | OverBudget;

/** How one settlement of an attempt ended. */
export interface Ending {
  readonly id: string;
  readonly state: 'finalized' | 'reverted' | 'expired' | 'foreign';
  readonly isPaid: boolean;
  readonly transaction?: Hex;
  readonly blockNumber?: bigint;
  readonly blockHash?: Hex;
  readonly logIndex?: number;
  readonly batchSize?: number;
  readonly reason?: Reason;
}

export interface FinishResult {
  /**
   * Settlements that did not end: their success, or a 202 that was included, was acknowledged, and the attempt
   * died unpaid with the authorization unused. They are resubmitted until their deadline.
   */
  readonly resubmitted: readonly string[];
}

/** Why a settlement is not sent. */
export interface Refusal {
  readonly id: string;
  readonly reason: Reason;
}

/** A block in which settlements were seen paid. */
export interface InclusionBlock {
  readonly transaction: Hex;
  readonly number: bigint;
  readonly hash: Hex;
}

/** An attempt that a lane still has in memory, with the payments it carries. */
export interface RememberedAttempt {
  readonly attempt: Attempt;
  readonly payments: ReadonlyMap<string, AcceptedPayment>;
}

export interface ParkedSettlement {
  readonly id: string;
  readonly payment: AcceptedPayment;
  readonly why: ParkReason;
  /** How often it was asked for since it was parked. */
  readonly tries: number;
  readonly sentBefore: SentBefore;
}

/** - `state_unreadable`: the token does not say whether it is used. `search_failed`: logs cannot be had. */
export type ParkReason = 'state_unreadable' | 'search_failed';

export interface Parking {
  readonly id: string;
  readonly why: ParkReason;
  /** Milliseconds since the epoch by the clock of Redis, or of the process that parks: they differ by seconds. */
  readonly retryAtMs: number;
}

/** The findings about a parked settlement. */
export type Unparking =
  | { readonly kind: 'ended'; readonly ending: Ending }
  /** It is unused and can be sent again. */
  | { readonly kind: 'requeue'; readonly id: string }
  /** Nothing; it is asked for again. */
  | ({ readonly kind: 'again' } & Parking);

export interface SweepResult {
  readonly ready: number;
  readonly expired: readonly string[];
}
