import type { Hex } from 'viem';
import type { AcceptedPayment } from '../../protocol/payment/accepted-payment.js';
import type { Reason } from '../../protocol/reasons.js';
import type { Attempt } from '../model/attempt.js';
import type { SettlementState } from '../model/settlement.js';

// What the steps of a lane take and give; the steps themselves are in `lane-store.ts`.

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

/** A settlement that a lane has taken from the ready set. */
export interface TakenSettlement {
  readonly id: string;
  readonly payment: AcceptedPayment;
  /** It shared a transaction that did not pay it; now it goes alone. */
  readonly goesAlone: boolean;
  /** How often it was put off because nothing could be said of it; see `LaneStore.postpone`. */
  readonly tries: number;
  /** Somebody was told success for it: it is collected until its deadline and never refused. */
  readonly isCollectedAgain: boolean;
  /** Present where an attempt carried it that is dead now. */
  readonly sentBefore?: SentBefore;
}

/** What is left of the attempts that did not settle a settlement. */
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
  readonly logIndex: number;
}

/** A settlement of a stored attempt, as the former writer of the lane left it. */
export interface StoredSettlement {
  readonly id: string;
  readonly payment: AcceptedPayment;
  readonly state: SettlementState;
  /** The account nonce it is bound to. */
  readonly accountNonce: number | undefined;
  /** What the ledger says; the chain may have replaced that block since. */
  readonly inclusion: StoredInclusion | undefined;
  readonly isCollectedAgain: boolean;
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
  /** What the lane may spend a day; `undefined` for no limit. */
  readonly laneGwei: bigint | undefined;
  /** What may be spent a day on one payee. */
  readonly payeeGwei: bigint | undefined;
  /** What may be spent a day on transactions of payers, top-ups included; counts for a `fund` alone. */
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
   * Settlements that did not end: somebody was told success, or a 202 that was included, and the attempt
   * died unpaid with the authorization unused. They are collected again until their deadline.
   */
  readonly collectedAgain: readonly string[];
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
  /** Milliseconds since the epoch by the clock of Redis, or of whoever parks: they differ by seconds. */
  readonly retryAtMs: number;
}

/** What was found out about a parked settlement. */
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
