import { ChainUnavailableError } from '../../protocol/errors.js';
import type { FoundLog } from './receipt.js';
import type { BlockRange } from './use-search/scan.js';

/** Providers limit the blocks of one query; most allow at least this many. */
const SPAN_MOST = 5000n;
/** A node that refuses this few has no logs. */
const SPAN_LEAST = 8n;
/** Answers in a row after which a longer range is tried: a provider with a limit refuses each of these. */
const GROWS_AFTER = 8;

/**
 * Reads logs in ranges: a refused range is halved, and after some answered ones the next is longer.
 *
 * @throws ChainUnavailableError where even a small range is refused.
 */
export async function searchLogs(
  read: (span: BlockRange) => Promise<readonly FoundLog[]>,
  { from, to }: BlockRange,
): Promise<readonly FoundLog[]> {
  const found: (readonly FoundLog[])[] = [];
  let most = SPAN_MOST;
  let answered = 0;
  for (let next = from; next <= to;) {
    const last = next + most - 1n < to ? next + most - 1n : to;
    try {
      found.push(await read({ from: next, to: last }));
    } catch (error) {
      const tried = last - next + 1n;
      if (!(error instanceof ChainUnavailableError) || tried <= SPAN_LEAST) throw error;
      most = tried / 2n;
      answered = 0;
      continue;
    }
    next = last + 1n;
    answered += 1;
    if (answered % GROWS_AFTER === 0) most = most * 2n < SPAN_MOST ? most * 2n : SPAN_MOST;
  }
  return found.flat();
}
