import type { FoundLog } from '../../platform/chain/receipt.js';
import { ChainUnavailableError } from '../../protocol/errors.js';

/** Blocks; both ends count. */
export interface BlockSpan {
  readonly from: bigint;
  readonly to: bigint;
}

/** Providers bound the blocks of one look-up; most allow at least this many. */
const SPAN_MOST = 5000n;
/** A node that refuses so few has no logs to give. */
const SPAN_LEAST = 8n;

/**
 * Reads logs in ranges: a range that is refused is halved, one that is answered lets the next one grow.
 *
 * @throws ChainUnavailableError where even a small range is not answered.
 */
export async function searchLogs(
  read: (span: BlockSpan) => Promise<readonly FoundLog[]>,
  { from, to }: BlockSpan,
): Promise<readonly FoundLog[]> {
  const found: FoundLog[] = [];
  let most = SPAN_MOST;
  for (let next = from; next <= to;) {
    const last = next + most - 1n < to ? next + most - 1n : to;
    try {
      found.push(...(await read({ from: next, to: last })));
    } catch (error) {
      const tried = last - next + 1n;
      if (!(error instanceof ChainUnavailableError) || tried <= SPAN_LEAST) throw error;
      most = tried / 2n;
      continue;
    }
    next = last + 1n;
    most = most * 2n < SPAN_MOST ? most * 2n : SPAN_MOST;
  }
  return found;
}
