import {
  CallUnansweredError,
  ChainUnavailableError,
  EndpointsDisagreeError,
} from '../../protocol/errors.js';
import { withTimeout } from '../concurrency/timing.js';
import type { ChainView } from './chain-view.js';

/** After this time the next endpoint is asked too. */
const HEDGE_MS = 700;
/** Every call has its own time limit. */
const FOREVER_MS = 600_000;

/** `undefined` when the endpoint did not answer. */
export type Done<T> = { readonly value: T } | undefined;

/**
 * The answer of one endpoint. An error of endpoints that disagree is passed on, because another one would not help.
 *
 * @param onUnresponsive - called when the endpoint answers, but not this call.
 */
export async function attempt<T>(
  work: () => Promise<T>,
  onUnresponsive: (error: CallUnansweredError) => void = () => undefined,
): Promise<Done<T>> {
  try {
    return { value: await work() };
  } catch (error) {
    if (error instanceof CallUnansweredError) onUnresponsive(error);
    if (!(error instanceof ChainUnavailableError) || error instanceof EndpointsDisagreeError) {
      throw error;
    }
    return undefined;
  }
}

/**
 * Asks endpoints in order: the next one when one does not answer soon. The first result counts.
 *
 * @throws CallUnansweredError when an endpoint answers, but not for a contract's call.
 */
export async function firstAnswer<T>(
  views: readonly ChainView[],
  use: (view: ChainView) => Promise<T>,
): Promise<Done<T>> {
  const waiting = [...views];
  const running = new Set<Promise<Done<T>>>();
  const unresponsive: CallUnansweredError[] = [];
  const note = (error: CallUnansweredError): void => {
    unresponsive.push(error);
  };
  const startNext = (): void => {
    const view = waiting.shift();
    if (view === undefined) return;
    const run: Promise<Done<T>> = attempt(() => use(view), note).finally(() => running.delete(run));
    // It may fail after another endpoint's answer was used.
    run.catch(() => undefined);
    running.add(run);
  };
  startNext();
  while (running.size > 0) {
    const timeoutMs = waiting.length > 0 ? HEDGE_MS : FOREVER_MS;
    const answer = await withTimeout(timeoutMs, Promise.race(running));
    if (answer.inTime && answer.value !== undefined) return answer.value;
    if (!answer.inTime || running.size === 0) startNext();
  }
  const [first] = unresponsive;
  if (first !== undefined) throw first;
  return undefined;
}
