import { delay } from '../../../platform/concurrency/timing.js';
import { ChainUnavailableError, CodeUnresponsiveError } from '../../../protocol/errors.js';
import { actionOf } from '../../../protocol/schemes/registry.js';
import type { Sendable } from '../../model/grouping.js';
import type { PreflightResult } from './preflight-result.js';

/** Limit of a lane's settlements in background simulation. */
const MAX = 64;
/** A settlement is refused when its simulation fails this often while its node answers others. */
const TRIES = 3;
const PAUSE_MS = 300;

interface BackgroundChecksOptions {
  readonly onDecided: () => void;
  readonly onError: (error: unknown) => void;
}

/**
 * Simulates settlements with code that may be slow or burn gas, outside the loop of a lane: several at a time, each a
 * limited number of times.
 */
export class BackgroundChecks<T extends Sendable> {
  readonly #running = new Set<string>();
  #decided: PreflightResult<T>[] = [];
  #generation = 0;

  constructor(private readonly options: BackgroundChecksOptions) {}

  get hasDecided(): boolean {
    return this.#decided.length > 0;
  }

  /** @returns whether there is room for it, or it is in progress already. */
  start(item: T, check: () => Promise<PreflightResult<T>>): boolean {
    if (this.#running.has(item.id)) return true;
    if (this.#running.size >= MAX) return false;
    this.#running.add(item.id);
    const generation = this.#generation;
    void this.#tryThrice(item, check).then((decided) => {
      if (generation !== this.#generation) return;
      this.#running.delete(item.id);
      this.#decided.push(decided);
      this.options.onDecided();
    });
    return true;
  }

  /** The decisions since the last call. */
  takeDecided(): readonly PreflightResult<T>[] {
    const decided = this.#decided;
    this.#decided = [];
    return decided;
  }

  /** Drops everything; results of checks under way are ignored. */
  clear(): void {
    this.#generation += 1;
    this.#running.clear();
    this.#decided = [];
  }

  async #tryThrice(item: T, check: () => Promise<PreflightResult<T>>): Promise<PreflightResult<T>> {
    let silences = 0;
    for (let count = 0; count < TRIES; count += 1) {
      if (count > 0) await delay(PAUSE_MS);
      try {
        return await check();
      } catch (error) {
        if (error instanceof CodeUnresponsiveError) silences += 1;
        if (error instanceof ChainUnavailableError) continue;
        this.options.onError(error);
      }
    }
    return silences === TRIES ? refused(item) : undecided(item);
  }
}

function refused<T extends Sendable>(item: T): PreflightResult<T> {
  const reason = actionOf(item.payment.authorization).reasons.simulationFailed;
  return { groups: [], refusals: [{ item, reason }], undecided: [], blockNumber: 0n };
}

function undecided<T extends Sendable>(item: T): PreflightResult<T> {
  return { groups: [], refusals: [], undecided: [item], blockNumber: 0n };
}
