import type { ChainView } from '../../platform/chain/chain-view.js';
import type { EvmChain } from '../../platform/chain/evm-chain.js';
import type { Clock } from '../../platform/concurrency/clock.js';
import { ChainUnavailableError } from '../../protocol/errors.js';

/** The endpoints of a chain, as far as witnesses are needed. */
type EndpointPool = Pick<EvmChain, 'views' | 'endpoints'>;

/** No caller waits for the answer, so a slow node gets time. */
const READ_MS = 10_000;
const TRIES = 3;
const PAUSE_MS = 400;

/**
 * Asks endpoints until two of them say the same. Where settling believes one whose witness is away, this
 * does not: there is time to look again later, and what is said here is said of the books for good. One
 * endpoint that has no second one by the settings is believed alone.
 *
 * @param keyOf - equal for what is the same.
 * @returns `undefined` where no two of them say the same.
 */
export async function confirmedRead<T>(
  chain: EndpointPool,
  clock: Clock,
  read: (view: ChainView) => Promise<T>,
  keyOf: (value: T) => string,
): Promise<{ readonly value: T } | undefined> {
  const needed = Math.min(2, chain.endpoints.length);
  const waiting = chain.views();
  const reads: { readonly value: T; readonly key: string }[] = [];
  while (waiting.length > 0) {
    const asked = waiting.splice(0, Math.max(1, needed - reads.length));
    const answers = await Promise.all(asked.map((view) => readWithRetry(view, clock, read)));
    for (const answer of answers) {
      if (answer === undefined) continue;
      const key = keyOf(answer.value);
      if (needed === 1 || reads.some((other) => other.key === key)) return answer;
      reads.push({ value: answer.value, key });
    }
  }
  return undefined;
}

/** @returns `undefined` where this endpoint does not answer. */
export async function readWithRetry<T>(
  view: ChainView,
  clock: Clock,
  read: (view: ChainView) => Promise<T>,
): Promise<{ readonly value: T } | undefined> {
  for (let count = 1; ; count += 1) {
    try {
      return { value: await read(view.within(READ_MS)) };
    } catch (error) {
      if (!(error instanceof ChainUnavailableError)) throw error;
      if (count === TRIES) return undefined;
      await clock.sleep(PAUSE_MS * count);
    }
  }
}
