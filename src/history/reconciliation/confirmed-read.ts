import type { ChainView } from '../../platform/chain/chain-view.js';
import type { EvmChain } from '../../platform/chain/evm-chain.js';
import type { Clock } from '../../platform/concurrency/clock.js';
import { ChainUnavailableError } from '../../protocol/errors.js';

/** The endpoints of a chain that can confirm a read. */
type EndpointPool = Pick<EvmChain, 'views' | 'endpoints'>;

/** Long, because no request waits for the answer. */
const READ_MS = 10_000;
const TRIES = 3;
const PAUSE_MS = 400;

/**
 * Asks endpoints until two give the same answer. A settle relies on one endpoint while the other is away;
 * reconciliation does not, because it can retry later and its result is permanent. A single configured endpoint is
 * believed.
 *
 * @param keyOf - equal for equal answers.
 * @returns `undefined` if no two endpoints agree.
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

/** @returns `undefined` if this endpoint does not answer. */
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
