import type { Hex } from 'viem';
import type { Finding } from './difference.js';
import type { RecordedSettlement } from './records.js';

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

/** A payment of nothing needs no transaction; any other one does. */
export function withoutTransaction(row: RecordedSettlement): readonly Finding[] {
  if (!row.isPaid || row.transaction !== undefined || row.amount === 0n) return [];
  return [{ name: 'settled_without_log', settlementId: row.id, blockNumber: row.blockNumber }];
}
