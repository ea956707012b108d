import { CircuitBreaker } from '../../platform/concurrency/circuit-breaker.js';
import type { Clock } from '../../platform/concurrency/clock.js';
import { within } from '../../platform/concurrency/timing.js';
import type { CatalogueSource } from '../../platform/config/source-settings.js';
import {
  compressionOf,
  type FetchAnswer,
  type SafeFetch,
} from '../../platform/fetch/safe-fetch.js';
import { isJsonObject, readOptionalObject } from '../../protocol/payment/wire-values.js';
import type { AnswerCache } from './answer-cache.js';
import { type ForeignEntry, readForeignEntry } from './foreign-entry.js';

/** Milliseconds for an answer, whole. What waits for it waits no longer. */
export const ANSWER_MS = 1000;
/** Bytes of an answer: what is larger is none. The worst of them takes about 20 ms of this process to read. */
export const ANSWER_MAX_BYTES = 262_144;
/** So many failures in a row, and a source is left alone for a while. */
const FAILURES_MOST = 3;
const PAUSE_MS = 30_000;
const AT_ONCE_MOST = 4;
/** Strangers decide what is asked: a source hears no more than this of all of them, and no more is parsed. */
const ASKED_EACH_SECOND = 3;
const ASKED_AT_ONCE = 20;

/** Says that only what a catalogue has of its own is asked for; else two that name each other would go round. */
export const OWN_ONLY = { header: 'x402-sources', parameter: 'sources', value: 'own' } as const;

/** What a source is asked. */
export interface SourceQuestion {
  readonly path: 'resources' | 'search';
  readonly parameters: Readonly<Record<string, string>>;
  /** More of an answer are not looked at. */
  readonly most: number;
}

export interface SourceAnswer {
  /** In their order; `undefined` for what would not be listed here. */
  readonly entries: readonly (ForeignEntry | undefined)[];
  /** As the source says; `undefined` where it does not. */
  readonly total: number | undefined;
}

export interface SourceParts {
  readonly fetcher: Pick<SafeFetch, 'fetch'>;
  readonly cache: AnswerCache<SourceAnswer>;
  readonly clock: Pick<Clock, 'now' | 'steady'>;
  readonly observer: SourceObserver;
}

export interface SourceObserver {
  /** It is left alone for a while. */
  paused(name: string): void;
  recovered(name: string): void;
}

/** Another catalogue. It may be slow, away, or lie: what it costs to ask it has a bound. */
export class Source {
  readonly name: string;
  readonly #breaker: CircuitBreaker;
  readonly #pending = new Map<string, Promise<SourceAnswer | undefined>>();
  #left = ASKED_AT_ONCE;
  #filledAt: number;

  constructor(
    private readonly source: CatalogueSource,
    private readonly parts: SourceParts,
  ) {
    const steady = (): number => parts.clock.steady();
    this.name = source.name;
    this.#filledAt = steady();
    this.#breaker = new CircuitBreaker({ failuresMost: FAILURES_MOST, pauseMs: PAUSE_MS, steady });
  }

  /**
   * @returns after {@link ANSWER_MS} at the latest; `undefined` where it has not answered, was not asked because it
   * failed lately, or is asked too much already. Never throws.
   */
  async ask(question: SourceQuestion): Promise<SourceAnswer | undefined> {
    const { path, parameters } = question;
    const query = new URLSearchParams({ ...parameters, [OWN_ONLY.parameter]: OWN_ONLY.value });
    const url = `${this.source.url}/discovery/${path}?${query.toString()}`;
    const known = this.parts.cache.get(url) ?? this.#pending.get(url);
    if (known !== undefined) return known;
    if (this.#pending.size >= AT_ONCE_MOST || !this.#takesOneMore()) return undefined;
    const asking = this.#answer(url, question.most).finally(() => this.#pending.delete(url));
    this.#pending.set(url, asking);
    return asking;
  }

  #takesOneMore(): boolean {
    const now = this.parts.clock.steady();
    const filled = this.#left + ((now - this.#filledAt) / 1000) * ASKED_EACH_SECOND;
    this.#left = Math.min(ASKED_AT_ONCE, filled);
    this.#filledAt = now;
    if (this.#left < 1 || !this.#breaker.admits()) return false;
    this.#left -= 1;
    return true;
  }

  async #answer(url: string, most: number): Promise<SourceAnswer | undefined> {
    const wasPaused = this.#isPaused();
    const answered = await this.#attempt(url, most);
    if (answered === undefined) {
      this.#breaker.failed();
      if (!wasPaused && this.#isPaused()) this.parts.observer.paused(this.name);
      return undefined;
    }
    this.#breaker.succeeded();
    if (wasPaused) this.parts.observer.recovered(this.name);
    this.parts.cache.set(url, answered.answer, answered.bytes);
    return answered.answer;
  }

  #isPaused(): boolean {
    return this.#breaker.isOpen;
  }

  /** Nothing that another catalogue does may break an answer of ours. */
  async #attempt(
    url: string,
    most: number,
  ): Promise<{ readonly answer: SourceAnswer; readonly bytes: number } | undefined> {
    const headers = { accept: 'application/json', [OWN_ONLY.header]: OWN_ONLY.value };
    const signal = AbortSignal.timeout(ANSWER_MS);
    try {
      const wanted = { url, method: 'GET', headers, body: undefined } as const;
      // What cannot be aborted, such as the look-up of a name, holds nobody either.
      const outcome = await within(ANSWER_MS, this.parts.fetcher.fetch(wanted, signal));
      const answer = outcome.inTime ? this.#read(outcome.value, most) : undefined;
      return answer && outcome.inTime ? { answer, bytes: outcome.value.body.length } : undefined;
    } catch {
      return undefined;
    }
  }

  #read(fetched: FetchAnswer, most: number): SourceAnswer | undefined {
    const { status, isCutOff, url, body } = fetched;
    // Redirects may not lead away from what nobody can change on its way.
    const isAsSafe = url.startsWith('https:') || this.source.url.startsWith('http:');
    if (status !== 200 || isCutOff || !isAsSafe || compressionOf(fetched) !== undefined)
      return undefined;
    const said: unknown = JSON.parse(body.toString());
    const items = isJsonObject(said) ? (said['items'] ?? said['resources']) : undefined;
    if (!isJsonObject(said) || !Array.isArray(items)) return undefined;
    const now = this.parts.clock.now();
    const total = readOptionalObject(said['pagination'])?.['total'];
    return {
      entries: items.slice(0, most).map((item) => readForeignEntry(item, now)),
      total: Number.isSafeInteger(total) ? Number(total) : undefined,
    };
  }
}
