import { ChainUnavailableError } from '../../protocol/errors.js';
import { delay, withTimeout } from '../concurrency/timing.js';

/**
 * Reads again while the chain is unavailable.
 *
 * @param until - as `performance.now()` counts.
 * @param pauseMs - between two attempts.
 * @returns `undefined` where the time is over before the chain has answered.
 */
export async function readUntil<T>(
  until: number,
  pauseMs: number,
  read: () => Promise<T>,
): Promise<T | undefined> {
  while (performance.now() < until) {
    try {
      const answer = await withTimeout(until - performance.now(), read());
      return answer.inTime ? answer.value : undefined;
    } catch (error) {
      if (!(error instanceof ChainUnavailableError)) throw error;
      await delay(pauseMs);
    }
  }
  return undefined;
}
