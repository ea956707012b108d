import type { Address, Hex } from 'viem';
import type { ReceiptLog } from '../../protocol/evm/logs.js';
import { CHANNEL_SCHEME } from '../../protocol/schemes/registry.js';
import type { Finding } from './difference.js';

/** A settlement in the history. Facts that the ledger did not know are missing. */
export interface RecordedSettlement {
  /** Base64url. */
  readonly id: string;
  readonly state: string;
  readonly isPaid: boolean;
  /** The deciding transaction. */
  readonly transaction: Hex | undefined;
  readonly blockNumber: bigint | undefined;
  readonly blockHash: Hex | undefined;
  readonly logIndex: number | undefined;
  readonly method: string | undefined;
  /** Absent for the first scheme of this service. */
  readonly scheme?: string;
  readonly asset: Address | undefined;
  readonly payer: Address | undefined;
  readonly payTo: Address | undefined;
  /** The amount to pay, atomic units. */
  readonly amount: bigint | undefined;
  readonly nonce: bigint | undefined;
  /** Every transaction that carried the settlement. */
  readonly transactions: readonly Hex[];
}

/** A mined transaction, as read from the chain. */
export interface SeenTransaction {
  readonly hash: Hex;
  readonly from: Address;
  readonly to: Address | null;
  readonly nonce: number;
  readonly isSuccess: boolean;
  readonly blockNumber: bigint;
  readonly blockHash: Hex;
  readonly feeWei: bigint;
  readonly valueWei: bigint;
  readonly logs: readonly ReceiptLog[];
}

/** The result of reading a transaction. */
export type ReadTransaction =
  | { readonly kind: 'seen'; readonly transaction: SeenTransaction }
  /** `isProven`: the expected block was read, and it does not contain the transaction. */
  | { readonly kind: 'absent'; readonly isProven: boolean }
  | { readonly kind: 'unread' };

/** An account at the end of one block. */
export interface LaneState {
  /** Account nonces below this are used. */
  readonly nonce: number;
  readonly balanceWei: bigint;
}

/** Settlements by every transaction that they name. */
export function byTransaction(
  settlements: readonly RecordedSettlement[],
): ReadonlyMap<Hex, readonly RecordedSettlement[]> {
  const byHash = new Map<Hex, RecordedSettlement[]>();
  for (const one of settlements) {
    for (const hash of hashesOf(one)) {
      const named = byHash.get(hash);
      if (named === undefined) byHash.set(hash, [one]);
      else named.push(one);
    }
  }
  return byHash;
}

export function hashesOf({ transaction, transactions }: RecordedSettlement): readonly Hex[] {
  return [...new Set([...(transaction === undefined ? [] : [transaction]), ...transactions])];
}

/** The block of a transaction by the history, if its absence needs a proof. */
export function blockOf(hash: Hex, named: readonly RecordedSettlement[]): bigint | undefined {
  return named.find(({ isPaid, transaction }) => isPaid && transaction === hash)?.blockNumber;
}

/**
 * The finding for a paid settlement without a transaction. A payment of amount 0 needs none. Neither does an action
 * on a channel that another sender did, because only the state of the contract shows it.
 */
export function withoutTransaction(row: RecordedSettlement): readonly Finding[] {
  if (!row.isPaid || row.transaction !== undefined || row.amount === 0n) return [];
  if (row.scheme === CHANNEL_SCHEME && row.state === 'foreign') return [];
  return [{ name: 'settled_without_log', settlementId: row.id, blockNumber: row.blockNumber }];
}
