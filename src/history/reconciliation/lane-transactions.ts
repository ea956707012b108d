import type { Address } from 'viem';
import { type LaneTransaction, laneTransactionOf } from './compare-lane.js';
import type { NonceGap } from './find-transactions.js';
import type { SeenTransaction } from './records.js';
import type { BlockSpan } from './search-logs.js';

/** The transactions of a lane that were read, each once. */
export class LaneTransactions {
  readonly #transactions = new Map<string, LaneTransaction>();

  constructor(readonly lane: Address) {}

  add(seen: SeenTransaction): void {
    this.#transactions.set(seen.hash, laneTransactionOf(seen));
  }

  within({ from, to }: BlockSpan): readonly LaneTransaction[] {
    return [...this.#transactions.values()].filter(
      ({ blockNumber }) => blockNumber >= from && blockNumber <= to,
    );
  }
}

/** The blocks in which missing account nonces lie: between their neighbours that are known. */
export function gapsOf(
  missing: readonly number[],
  known: readonly LaneTransaction[],
  span: BlockSpan,
): readonly NonceGap[] {
  const sorted = [...known].sort((a, b) => a.nonce - b.nonce);
  let next = 0;
  return missing.map((nonce) => {
    while ((sorted[next]?.nonce ?? Infinity) < nonce) next += 1;
    return {
      nonce,
      from: sorted[next - 1]?.blockNumber ?? span.from,
      to: sorted[next]?.blockNumber ?? span.to,
    };
  });
}
