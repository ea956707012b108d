import { StartError } from '../../protocol/errors.js';
import { delay } from '../concurrency/timing.js';

/** How long a process that starts waits for a Redis: to become reachable, and to answer each question. */
export const START_TIMEOUT_MS = 15_000;

const PAUSE_MS = 100;

/**
 * What a process must know of Redis before it serves. A Redis that is slow, or gone, for a moment keeps it
 * waiting and does not end it.
 *
 * @param setting - the one that names this Redis.
 * @param ask - safe to repeat: Redis may have done it and lost the answer.
 * @throws StartError what `ask` threw as one, at once; or that Redis did not answer in {@link START_TIMEOUT_MS}.
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
