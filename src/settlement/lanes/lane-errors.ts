import { ChainUnavailableError, RedisUnavailableError } from '../../protocol/errors.js';

/** The ledger and this process may disagree about the lane: it has to be opened again. */
export class ReopenLane extends Error {}

/** Errors that pass by themselves: the lane is reopened without an alert. */
export function isTransient(error: unknown): boolean {
  return (
    error instanceof ReopenLane ||
    error instanceof ChainUnavailableError ||
    error instanceof RedisUnavailableError
  );
}
