import type { Address, Hex } from 'viem';
import type { ActionMethod } from '../../protocol/evm/transfer-method.js';
import type { Reason } from '../../protocol/reasons.js';

/**
 * - `queued`: accepted, nothing signed that could still land.
 * - `broadcast`: a signed transaction carries it; it may land at any moment.
 * - `included`, `finalized`: a lane's transaction paid it, in a block that may or cannot be replaced.
 * - `reverted`: a lane's transaction was mined and did not pay it; the authorization is unused.
 * - `expired`: its deadline passed unused.
 * - `foreign`: the authorization was used by a foreign transaction.
 * - `withdrawn`: taken back before anything was signed. Nothing moved, nothing will.
 */
export const SETTLEMENT_STATES = [
  'queued',
  'broadcast',
  'included',
  'finalized',
  'reverted',
  'expired',
  'foreign',
  'withdrawn',
] as const;
export type SettlementState = (typeof SETTLEMENT_STATES)[number];

/** The certainty at which success is answered. */
export type Finality = 'included' | 'finalized';

/** Whether a requester got success or a 202 for a settlement. */
export type SaleState = 'open' | 'sold';

export interface Sale {
  readonly state: SaleState;
  /** The requester that it was sold to. */
  readonly requester: string | undefined;
  /** Tag of that requester's idempotency key. */
  readonly soldKeyTag: string | undefined;
  /** Tag of the idempotency key that is bound to it: only requests with that key get success. */
  readonly boundKeyTag: string | undefined;
}

/** The public facts of one settlement, in any state. */
export interface SettlementView {
  /** Names the claim: see `settlementIdOf`. */
  readonly id: string;
  readonly state: SettlementState;
  /** Whether the payment reached the payee in this settlement's name. */
  readonly isPaid: boolean;
  readonly sale: Sale;
  readonly termsTag: string;
  readonly signedTag: string;
  /** The transaction that decided it, else the newest one sent for it. */
  readonly transaction: Hex | undefined;
  /** Why it failed, once it has. */
  readonly reason: Reason | undefined;
  readonly blockNumber: bigint | undefined;
  readonly logIndex: number | undefined;
  readonly batchSize: number | undefined;
  /** Accepted by a 202: no requester waits for it, so none that leaves withdraws it. */
  readonly isAsync: boolean;
  /**
   * The amount that the first settle bound, atomic units, where its scheme may settle less than was signed: every
   * later answer has the same one.
   */
  readonly settledAmount: bigint | undefined;
  /** When an operator closed it as delivered or refunded by hand; milliseconds since the epoch. Only in the ledger. */
  readonly closedAt?: number;
}

/** All that is known of a settlement, as the status endpoint tells it; kept for the retention time. */
export interface SettlementDetails {
  readonly scheme: string;
  readonly method: ActionMethod;
  readonly chainId: number;
  readonly token: Address;
  readonly payer: Address;
  readonly payTo: Address;
  readonly amount: bigint;
  readonly authorizationNonce: bigint;
  /** Unix seconds. */
  readonly deadline: bigint;
  /** Every transaction that ever carried it, oldest first. */
  readonly hashes: readonly Hex[];
  readonly blockHash: Hex | undefined;
  readonly times: SettlementTimes;
}

/** Milliseconds since the epoch. */
interface SettlementTimes {
  readonly arrived: number | undefined;
  readonly claimed: number | undefined;
  readonly allocated: number | undefined;
  readonly included: number | undefined;
  readonly finished: number | undefined;
}

export function isSuccessAt(view: SettlementView, finality: Finality): boolean {
  if (!view.isPaid) return false;
  return finality === 'included' || view.state === 'finalized' || view.state === 'foreign';
}

/** A failure that is final; what can still become a success is not one. */
export function isFailure(view: SettlementView): boolean {
  if (view.state === 'withdrawn' || view.state === 'reverted' || view.state === 'expired') {
    return true;
  }
  return view.state === 'foreign' && !view.isPaid;
}

/** Nothing of it is under way or paid: the payment may be claimed again. */
export function isReopened({ state }: SettlementView): boolean {
  return state === 'withdrawn' || state === 'reverted';
}

/** Whether a requester with this key gets success of a sold settlement: it was sold to that key. */
export function isSoldToKey({ sale }: SettlementView, keyTag: string): boolean {
  return sale.state === 'sold' && keyTag !== '' && sale.soldKeyTag === keyTag;
}
