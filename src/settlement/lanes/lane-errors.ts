import { ChainUnavailableError, RedisUnavailableError } from '../../protocol/errors.js';

/** The ledger and this process may disagree about the lane: it has to be opened again. */
export class ReopenLane extends Error {}

/** What passes by itself: the lane is opened again, and nobody has to look. */
export function isPassing(error: unknown): boolean {
  return (
    error instanceof ReopenLane ||
    error instanceof ChainUnavailableError ||
    error instanceof RedisUnavailableError
  );
}
