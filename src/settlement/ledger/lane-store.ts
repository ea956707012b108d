import type { Address, Hex } from 'viem';
import type { AcceptedPayment } from '../../protocol/payment/accepted-payment.js';
import type { Reason } from '../../protocol/reasons.js';
import type { Attempt, KnownFunding } from '../model/attempt.js';
import type { SettlementState } from '../model/settlement.js';
import type { PlacesInUse } from '../model/sponsoring-machine.js';

/**
 * The ledger as lanes use it, in four ports. Every method is one atomic step for each of its settlements; all steps
 * of a call are sent to Redis together. Methods with a {@link HeldLane} assert its lease and its epoch. Every step
 * may be repeated.
 *
 * @throws LeaseLostError from every method with a lane, if this process no longer holds its lease: nothing was
 *   written.
 * @throws LedgerEpochChangedError if the ledger went back (a failover, a restore, a flush): nothing was written. The
 *   lane must be acquired again and restore what it has in memory.
 * @throws RedisUnavailableError from every method, if Redis does not answer: the step may have been taken.
 */
export interface LaneLedger {
  readonly leases: LaneLeases;
  readonly queue: LaneQueue;
  readonly attempts: LaneAttempts;
  readonly endings: LaneEndings;
}

/** Leases and state of lanes. */
export interface LaneLeases {
  /**
   * Acquires a free lane, or one that this process already holds (its former lease ends).
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

  /** Lanes with stored attempts, without a holder, and without a key in this process, because the key was removed. */
  orphans(chainId: number, ownLanes: readonly string[]): Promise<readonly string[]>;

  /** Reads the state of the lane. Settlements that its former writer took and did not sign become ready again. */
  open(held: HeldLane): Promise<OpenedLane>;

  /** @returns whether the record still had `known` and was set. */
  setNext(held: HeldLane, known: number | undefined, next: number): Promise<boolean>;

  /**
   * Stores the memory of a lane in a ledger that went back. Stored attempts stay, and get missing transactions.
   * Records become broadcast with their hash; a missing record is restored from its payment.
   *
   * @param next - the next account nonce of the lane is raised to this, never lowered.
   */
  restoreAttempts(
    held: HeldLane,
    attempts: readonly RememberedAttempt[],
    next: number,
  ): Promise<void>;

  /**
   * Registers a callback for a ledger that went back: every lane must be acquired and opened again.
   *
   * @returns a function that removes the callback.
   */
  onEpochChange(listener: () => void): () => void;
}

/** The queue of settlements, from their claim to a lane and back. */
export interface LaneQueue {
  /** The payments of unfinished settlements; others are missing from the result. */
  paymentsOf(
    chainId: number,
    ids: readonly string[],
  ): Promise<ReadonlyMap<string, AcceptedPayment>>;

  /** Which of these settlements are finished or deleted. */
  finishedOf(chainId: number, ids: readonly string[]): Promise<readonly string[]>;

  /** @returns how many settlements became ready. */
  ready(chainId: number, ids: readonly string[]): Promise<number>;

  /** Settlements that were claimed at least this long ago, and whose job never arrived. */
  overdue(chainId: number, ageMs: number, most: number): Promise<readonly string[]>;

  /**
   * Makes postponed settlements ready whose time has come, and expires queued ones past their deadline that no lane
   * has taken. A final payment that stays unsold too long becomes unclaimed. Any worker of the chain may sweep,
   * without a lane.
   *
   * @returns how many became ready, and which expired.
   */
  sweep(chainId: number, most: number): Promise<SweepResult>;

  /**
   * Takes ready settlements: in turn over the payees by arrival, for each payee the settlement with the earliest
   * deadline. Settlements that name another signer are left to it. A settlement with a preparation is taken only if a
   * place is free: in turn over the assets, and for each at most as many as {@link mayHavePlace} allows.
   *
   * @param isRetiring - takes only settlements that name this signer.
   * @param places - free places; all if absent.
   */
  take(
    held: HeldLane,
    most: number,
    isRetiring?: boolean,
    places?: PlacesInUse,
  ): Promise<TakenSettlement[]>;

  /** Makes taken settlements ready again that the lane will not send now: at once, or after a delay. */
  giveBack(held: HeldLane, ids: readonly string[], delayMs?: number): Promise<void>;

  /** Makes taken settlements that could not be verified ready again after a delay, and counts a try. */
  postpone(held: HeldLane, ids: readonly string[], delayMs: number): Promise<void>;

  /**
   * Refuses taken settlements before anything is signed. A settlement that was never sent ends as withdrawn with the
   * reason, and is stored for minutes. One that was sent before ends as reverted. One that is being resubmitted is
   * postponed instead.
   */
  refuse(held: HeldLane, refusals: readonly Refusal[]): Promise<void>;
}

/** The attempts of a lane, from the allocation of the account nonce to the block. */
export interface LaneAttempts {
  /** Stores account nonce, signed bytes and settlements in one step, within the budgets. */
  allocate(held: HeldLane, attempt: Attempt, budget: GasBudget): Promise<AllocateResult>;

  /**
   * Allocates an account nonce for a `fund`, within the budgets, while the lane holds the settlement that needs it.
   * The funding of a payer for a nonce is recorded for ever, so that it happens once.
   */
  fund(held: HeldLane, attempt: Attempt, budget: GasBudget): Promise<FundResult>;

  /** The last funding of a payer, by any lane. */
  fundingOf(chainId: number, payer: Address): Promise<KnownFunding | undefined>;

  /**
   * Stores another transaction of an attempt before it is sent, within the budgets: its additional cost is reserved.
   * It may carry fewer settlements than before; the others stay bound to the account nonce until it is final.
   */
  replace(held: HeldLane, attempt: Attempt, budget: GasBudget): Promise<ReplaceResult>;

  /**
   * Stores a transaction for an account nonce below the next one without a stored attempt, within the budget of the
   * lane.
   *
   * @returns `lost` if an attempt is stored, or the nonce was never allocated.
   */
  fillGap(held: HeldLane, attempt: Attempt, budget: GasBudget): Promise<FillResult>;

  /** @param costWei - the cost of the mined transaction; 0 if it was foreign. */
  closeAttempt(held: HeldLane, accountNonce: number, costWei: bigint): Promise<void>;

  include(
    held: HeldLane,
    accountNonce: number,
    block: InclusionBlock,
    batchSize: number,
    items: readonly PaidItem[],
  ): Promise<void>;

  /** The block was replaced: the transaction is in flight again. */
  uninclude(held: HeldLane, accountNonce: number, ids: readonly string[]): Promise<void>;
}

/** The end of settlements, and parking until their outcome can be read. */
export interface LaneEndings {
  /** @param accountNonce - of their attempt; `undefined` for taken settlements that are not sent again. */
  finish(
    held: HeldLane,
    accountNonce: number | undefined,
    endings: readonly Ending[],
  ): Promise<FinishResult>;

  /**
   * Returns settlements to the queue, each to be sent alone: their attempt is dead, or is final without them.
   *
   * @param sinceBlock - a block before the broadcast of the attempt.
   */
  requeue(
    held: HeldLane,
    accountNonce: number,
    sinceBlock: bigint,
    ids: readonly string[],
  ): Promise<void>;

  /**
   * Removes settlements from the lane whose outcome cannot be read. They stay `broadcast`.
   *
   * @param accountNonce - of their attempt, which is final; `undefined` for taken settlements that were sent before.
   */
  park(
    held: HeldLane,
    accountNonce: number | undefined,
    sinceBlock: bigint,
    parkings: readonly Parking[],
  ): Promise<void>;

  /** Parked settlements whose time has come. They are reserved for this caller for 30 seconds. */
  dueParked(chainId: number, most: number): Promise<readonly ParkedSettlement[]>;

  /** @returns the number of parked settlements of the chain. */
  parkedCount(chainId: number): Promise<number>;

  unpark(chainId: number, unparkings: readonly Unparking[]): Promise<FinishResult>;

  /**
   * Credits a log to a settlement, where a search may find it for another one too. A log is credited only once.
   *
   * @returns whether it belongs to this settlement.
   */
  credit(chainId: number, transaction: Hex, logIndex: number, id: string): Promise<boolean>;

  /**
   * Counts a settlement that reverted after a successful simulation; the count expires after 10 minutes.
   *
   * @param blamed - see `ClaimRules.blamedFor`.
   */
  noteRevert(chainId: number, blamed: readonly string[]): Promise<void>;
}

/** A lane of this process. Its lease is checked in every write. */
export interface HeldLane {
  /** `<chainId>:<signer>` */
  readonly lane: string;
  readonly chainId: number;
  /** `<processId>:<time of acquisition>`, compared as a whole. */
  readonly lease: string;
  /** The epoch of the ledger at acquisition. Another epoch means that the ledger went back. */
  readonly epoch: string;
}

/** The process that held a lane before and did not release it. */
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
  /** The settlement was in a batch that did not pay it, so it is sent alone. */
  readonly goesAlone: boolean;
  /** How often its simulation had no result; see `LaneQueue.postpone`. */
  readonly tries: number;
  /** Its success was acknowledged: it is resubmitted until its deadline and never refused. */
  readonly isResubmitted: boolean;
  /** Present if a dead attempt carried it. */
  readonly sentBefore?: SentBefore;
}

/** A final transaction that carried one settlement alone and did not pay it. */
export interface FailedTransaction {
  readonly transaction: Hex;
  readonly blockNumber: bigint;
  readonly blockHash: Hex;
  /** It succeeded, without evidence of the payment. */
  readonly isSuccess: boolean;
}

/** Facts of earlier attempts that did not pay a settlement. */
export interface SentBefore {
  /** A block before the first broadcast. A use up to that block is no copy of what was sent. */
  readonly sinceBlock: bigint;
  readonly hashes: readonly Hex[];
  /** Present if its last attempt has failed: an unused settlement then ends, and is not sent again. */
  readonly failed?: FailedTransaction;
}

/** The block of a settlement, as stored in the ledger. */
export interface StoredInclusion {
  readonly transaction: Hex;
  readonly blockNumber: bigint;
  readonly blockHash: Hex;
  /** Index of the log that proves the payment; `undefined` if the state of the chain proves it. */
  readonly logIndex: number | undefined;
}

/** A settlement that a transaction paid. */
export type PaidItem = { readonly id: string } & Pick<StoredInclusion, 'logIndex'>;

/** A settlement of a stored attempt, as the former writer of the lane left it. */
export interface StoredSettlement {
  readonly id: string;
  readonly payment: AcceptedPayment;
  readonly state: SettlementState;
  /** The account nonce of its attempt. */
  readonly accountNonce: number | undefined;
  /** The stored inclusion; the chain may have replaced that block since. */
  readonly inclusion: StoredInclusion | undefined;
  readonly isResubmitted: boolean;
}

export interface OpenedLane {
  /** Next account nonce; `undefined` if the lane has no record. */
  readonly next: number | undefined;
  /** By account nonce. */
  readonly attempts: readonly Attempt[];
  /** The unfinished settlements of the attempts, by id. */
  readonly settlements: ReadonlyMap<string, StoredSettlement>;
}

/** Gas fees, gwei. */
export interface GasBudget {
  /**
   * Maximum cost of this account nonce over all its transactions with the new one, because at most one of them is
   * mined.
   */
  readonly costGwei: bigint;
  /** The daily budget of the lane; `undefined` for no limit. */
  readonly laneGwei: bigint | undefined;
  /** The daily budget of one payee. */
  readonly payeeGwei: bigint | undefined;
  /** The daily budget for transactions of payers, with top-ups; only for a `fund`. */
  readonly fundingsGwei?: bigint | undefined;
  /** `2026-11-21`, UTC. A charge stays with the day of its allocation. */
  readonly day: string;
}

/** A budget would be exceeded: of the `lane`, of `fundings`, or of a payee. Nothing was written. */
export interface OverBudget {
  readonly kind: 'budget';
  readonly subject: string;
}

export type AllocateResult =
  | { readonly kind: 'ok' }
  /** An operator has paused the lane; nothing was allocated. */
  | { readonly kind: 'paused' }
  /** The record of the lane has another next nonce than the signed bytes. */
  | { readonly kind: 'nonce' }
  /** These settlements are no longer in the queue; nothing was allocated. */
  | { readonly kind: 'gone'; readonly ids: readonly string[] }
  | OverBudget;

export type FundResult =
  | AllocateResult
  /** The payer was already sent coins for a transaction of this nonce or of a later one. Nothing was allocated. */
  | { readonly kind: 'funded' };

export type ReplaceResult = { readonly kind: 'ok' } | OverBudget;

export type FillResult = { readonly kind: 'ok' | 'lost' } | OverBudget;

/** The end of one settlement of an attempt. */
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
  /** Its own transaction used the authorization and did not pay it, so that it cannot be resubmitted. */
  readonly isUsed?: true;
  /** The names that the failure counts against; by default those of the payment. */
  readonly blamed?: readonly string[];
}

export interface FinishResult {
  /**
   * Settlements that did not end: their success, or an included 202, was acknowledged, and the attempt died with the
   * authorization unused. They are resubmitted until their deadline; what no goods depend on, for about an hour.
   */
  readonly resubmitted: readonly string[];
}

/** Why a settlement is not sent. */
export interface Refusal {
  readonly id: string;
  readonly reason: Reason;
}

/** A block that contains payments of settlements. */
export interface InclusionBlock {
  readonly transaction: Hex;
  readonly number: bigint;
  readonly hash: Hex;
}

/** An attempt in the memory of a lane, with the payments it carries. */
export interface RememberedAttempt {
  readonly attempt: Attempt;
  readonly payments: ReadonlyMap<string, AcceptedPayment>;
}

export interface ParkedSettlement {
  readonly id: string;
  readonly payment: AcceptedPayment;
  readonly why: ParkReason;
  /** Number of tries since it was parked. */
  readonly tries: number;
  readonly sentBefore: SentBefore;
}

/**
 * - `state_unreadable`: the token does not report whether the authorization is used.
 * - `search_failed`: logs are not available.
 */
export type ParkReason = 'state_unreadable' | 'search_failed';

export interface Parking {
  readonly id: string;
  readonly why: ParkReason;
  /** The transaction of its attempt, where that has failed. */
  readonly failed?: FailedTransaction;
  /** Milliseconds since the epoch by the clock of Redis, or of the process that parks. They differ by seconds. */
  readonly retryAtMs: number;
}

/** The result for a parked settlement. */
export type Unparking =
  | { readonly kind: 'ended'; readonly ending: Ending }
  /** The authorization is unused: the settlement can be sent again. */
  | { readonly kind: 'requeue'; readonly id: string }
  /** No result: it is tried again. */
  | ({ readonly kind: 'again' } & Omit<Parking, 'failed'>);

export interface SweepResult {
  readonly ready: number;
  readonly expired: readonly string[];
}
