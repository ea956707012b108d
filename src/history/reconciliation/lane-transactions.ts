import type { Address } from 'viem';
import type { BlockRange } from '../../platform/chain/use-search/scan.js';
import { type LaneTransaction, laneTransactionOf } from './compare-lane.js';
import type { NonceGap } from './find-transactions.js';
import type { SeenTransaction } from './records.js';

/** The transactions of a lane that were read, each once. */
export class LaneTransactions {
  readonly #transactions = new Map<string, LaneTransaction>();

  constructor(readonly lane: Address) {}

  add(seen: SeenTransaction): void {
    this.#transactions.set(seen.hash, laneTransactionOf(seen));
  }

  within({ from, to }: BlockRange): readonly LaneTransaction[] {
    return [...this.#transactions.values()].filter(
      ({ blockNumber }) => blockNumber >= from && blockNumber <= to,
    );
  }
}

/** The blocks that can contain missing account nonces: between the known neighbours. */
export function gapsOf(
  missing: readonly number[],
  known: readonly LaneTransaction[],
  span: BlockRange,
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
