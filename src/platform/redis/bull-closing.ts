import type { Redis } from 'ioredis';
import { within } from '../concurrency/timing.js';

/** A `Queue` or a `Worker` of BullMQ. */
interface BullPart {
  close(force?: boolean): Promise<void>;
  getBackend(): { close(force?: boolean): Promise<void> };
}

/** What begins to close, and its end. */
interface Closing {
  /** Resolves when all have closed or that time is over; then no connection of theirs is left. Never fails. */
  within(ms: number): Promise<void>;
}

/**
 * Begins to close parts of BullMQ, which take nothing new from now on. They close when Redis has answered, and one that
 * is away is waited for without end.
 *
 * @param connections - that were given to them.
 */
export function closing(parts: readonly BullPart[], connections: readonly Redis[]): Closing {
  // What is under way cannot be given back to a Redis that is known to be away.
  const isAway = connections.some(({ status }) => status !== 'ready');
  const closed = Promise.allSettled(parts.map(async (part) => part.close(isAway)));
  return {
    within: async (ms) => {
      const { inTime } = await within(ms, closed);
      // Those that BullMQ made besides would be tried for ever.
      if (!inTime) {
        for (const part of parts)
          part
            .getBackend()
            .close(true)
            .catch(() => undefined);
      }
      for (const connection of connections) connection.disconnect();
    },
  };
}
