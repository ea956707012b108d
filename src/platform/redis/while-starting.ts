import { StartError } from '../../protocol/errors.js';
import { delay } from '../concurrency/timing.js';

/** Time limit of a starting process for Redis to become reachable, and for each answer. */
export const START_TIMEOUT_MS = 15_000;

const PAUSE_MS = 100;

/**
 * Reads data from Redis that a process needs before it serves. A Redis that is slow or unreachable for a moment
 * delays the start and does not end it.
 *
 * @param setting - the setting that names this Redis.
 * @param ask - must be idempotent, because Redis may have run it without an answer.
 * @throws StartError a StartError of `ask` at once; or no answer within {@link START_TIMEOUT_MS}.
 */
export async function whileStarting<T>(setting: string, ask: () => Promise<T>): Promise<T> {
  const deadline = performance.now() + START_TIMEOUT_MS;
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (error instanceof StartError) throw error;
      if (performance.now() > deadline) {
        throw new StartError(
          `${setting}: Redis did not answer in ${START_TIMEOUT_MS / 1000} s (${error instanceof Error ? error.message : 'no answer'})`,
          error,
        );
      }
    }
    await delay(PAUSE_MS);
  }
}
