import type { Address, Hex } from 'viem';
import type { ReceiptLog } from '../../protocol/evm/logs.js';
import type { Finding } from './difference.js';

/** A settlement as the books have it; what the ledger never knew is missing. */
export interface RecordedSettlement {
  /** Base64url. */
  readonly id: string;
  readonly state: string;
  readonly isPaid: boolean;
  /** The transaction that decided it. */
  readonly transaction: Hex | undefined;
  readonly blockNumber: bigint | undefined;
  readonly blockHash: Hex | undefined;
  readonly logIndex: number | undefined;
  readonly method: string | undefined;
  /** The first scheme of this service where it is missing. */
  readonly scheme?: string;
  readonly asset: Address | undefined;
  readonly payer: Address | undefined;
  readonly payTo: Address | undefined;
  /** The amount to pay, atomic units. */
  readonly amount: bigint | undefined;
  readonly nonce: bigint | undefined;
  /** Every transaction that ever carried it. */
  readonly transactions: readonly Hex[];
}

/** A mined transaction as the chain has it. */
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

/** What could be learned of a transaction. */
export type Sight =
  | { readonly kind: 'seen'; readonly transaction: SeenTransaction }
  /** @see isProven - the block that should hold it was read, and does not. */
  | { readonly kind: 'absent'; readonly isProven: boolean }
  | { readonly kind: 'unread' };

/** An account at the end of one block. */
export interface LaneState {
  /** Account nonces below this are used. */
  readonly nonce: number;
  readonly balanceWei: bigint;
}

/** Settlements by every transaction they name. */
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

/** Where a transaction is by the books, if that is in need of a proof. */
export function blockOf(hash: Hex, named: readonly RecordedSettlement[]): bigint | undefined {
  return named.find(({ isPaid, transaction }) => isPaid && transaction === hash)?.blockNumber;
}

/**
 * A payment of nothing needs no transaction; any other one does. What others did of a channel is shown by the state of
 * its contract alone, and no transaction is named.
 */
export function withoutTransaction(row: RecordedSettlement): readonly Finding[] {
  if (!row.isPaid || row.transaction !== undefined || row.amount === 0n) return [];
  if (row.scheme === 'batch-settlement' && row.state === 'foreign') return [];
  return [{ name: 'settled_without_log', settlementId: row.id, blockNumber: row.blockNumber }];
}
