import { caip2Of } from '../../protocol/payment/network.js';
import type { UnclaimedSettlements } from '../../settlement/ledger/queries/settlement-queries.js';

/** Final payments of one network without a requester that got the success: their buyers have nothing. */
export interface UnclaimedHealth {
  readonly network: string;
  readonly count: number;
  /** Age of the oldest one, in milliseconds; 0 without any. */
  readonly oldestMs: number;
  /** For the 5000 oldest, by asset, in atomic units. */
  readonly sums: readonly {
    readonly asset: string;
    readonly count: number;
    readonly amount: string;
  }[];
}

export function unclaimedHealth({
  chainId,
  count,
  oldestMs,
  sums,
}: UnclaimedSettlements): UnclaimedHealth {
  return {
    network: caip2Of(chainId),
    count,
    oldestMs,
    sums: sums.map((sum) => ({ ...sum, amount: sum.amount.toString() })),
  };
}
