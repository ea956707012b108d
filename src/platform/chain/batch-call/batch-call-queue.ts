import { TickCoalescer } from '../../concurrency/tick-coalescer.js';

/** While this many rounds are in progress, further questions are collected. */
const FLIGHTS_MAX = 4;
/** Limit of questions that are collected: anybody can cause them. */
const WAITING_MAX = 4000;
/** After a missing answer, a node gets single questions for this long; each further failure doubles the time. */
const REST_MS = 1000;
const REST_MAX_MS = 60_000;

/**
 * - A boolean is the answer.
 * - `alone`: it has to be asked in its own call.
 * - `silent`: the node does not answer.
 * - `not_sent`: too many wait. The node was not asked.
 */
export type BatchCallResult = boolean | 'alone' | 'silent' | 'not_sent';

/** The result of a round: an outcome for each question; `unanswered` where the node may refuse such rounds in general. */
export type RoundOutcome = readonly boolean[] | 'unanswered' | 'silent' | 'not_sent';

export interface Waiting<T> {
  readonly subject: T;
  readonly timeoutMs: number;
  readonly resolve: (word: BatchCallResult) => void;
}

interface BatchCallQueueOptions<T> {
  /** How many of the first may share a round; at least 1 if there are any. */
  readonly countOf: (waiting: readonly Waiting<T>[]) => number;
  readonly ask: (round: readonly Waiting<T>[]) => Promise<RoundOutcome>;
}

/**
 * Collects questions of one kind for one node. Questions of one turn of the event loop, or those that arrive during
 * other rounds, share a round; a single question is sent back.
 */
export class BatchCallQueue<T> {
  readonly #waiting: Waiting<T>[] = [];
  readonly #turnEnd = new TickCoalescer(() => {
    this.#flush();
  });
  #flights = 0;
  /** By `performance.now`. */
  #restsUntil = 0;
  #failures = 0;

  constructor(private readonly options: BatchCallQueueOptions<T>) {}

  add(subject: T, timeoutMs: number): Promise<BatchCallResult> {
    if (this.#asksAlone) return ALONE;
    if (this.#waiting.length >= WAITING_MAX) return NOT_SENT;
    return new Promise((resolve) => {
      this.#waiting.push({ subject, timeoutMs, resolve });
      this.#turnEnd.schedule();
    });
  }

  /** After a failure a node is tried with one round, without new questions waiting behind it. */
  get #asksAlone(): boolean {
    return performance.now() < this.#restsUntil || (this.#failures > 0 && this.#flights > 0);
  }

  #flush(): void {
    while (this.#waiting.length > 0 && this.#flights < FLIGHTS_MAX) {
      if (this.#asksAlone) {
        settle(this.#waiting.splice(0), 'alone');
        return;
      }
      const round = this.#waiting.splice(0, Math.max(1, this.options.countOf(this.#waiting)));
      if (round.length === 1) {
        settle(round, 'alone');
        continue;
      }
      this.#flights += 1;
      void this.#fly(round);
    }
  }

  async #fly(round: readonly Waiting<T>[]): Promise<void> {
    const outcome = await this.options.ask(round).catch(() => 'unanswered' as const);
    this.#flights -= 1;
    if (outcome === 'unanswered') {
      this.#restsUntil = performance.now() + Math.min(REST_MS * 2 ** this.#failures, REST_MAX_MS);
      this.#failures += 1;
      settle(round, 'alone');
    } else if (outcome === 'silent' || outcome === 'not_sent') {
      settle(round, outcome);
    } else {
      this.#failures = 0;
      round.forEach(({ resolve }, index) => {
        resolve(outcome[index] ?? 'alone');
      });
    }
    this.#flush();
  }
}

const ALONE: Promise<BatchCallResult> = Promise.resolve('alone');
const NOT_SENT: Promise<BatchCallResult> = Promise.resolve('not_sent');

function settle(waiting: readonly Waiting<unknown>[], word: BatchCallResult): void {
  for (const { resolve } of waiting) resolve(word);
}
