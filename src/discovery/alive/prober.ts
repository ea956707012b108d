import type { Clock } from '../../platform/concurrency/clock.js';
import { Rounds } from '../../platform/concurrency/rounds.js';
import {
  type FetchAnswer,
  FetchError,
  type FetchMethod,
  type SafeFetch,
} from '../../platform/fetch/safe-fetch.js';
import { isUrl } from '../../platform/http/urls.js';
import { type Probe, probedUrlOf, type ProbeState, stateOf } from './probe.js';
import type { KeptRobots, ProbeBook, Visit, Visited } from './probe-book.js';
import type { ProberObserver } from './prober-observer.js';
import { mayAsk, readRobots, type Robots } from './robots.js';

export interface ProberParts {
  readonly book: ProbeBook;
  readonly fetcher: Pick<SafeFetch, 'fetch' | 'close'>;
  readonly observer: ProberObserver;
  readonly clock: Clock;
}

/** The name that `robots.txt` may speak of; RFC 9309 §2.2.1 has letters, `_` and `-` alone. */
export const PRODUCT = 'PaymentCatalogue';

const PAGE = 200;
/** Hosts that are asked at once, so that slow ones do not hold up the others for long. */
const HOSTS_AT_ONCE = 8;
const IDLE_MS = 5000;
const RETRY_MS = 5000;
/** For each of the two requests, from its start to the last byte of its answer. */
const FETCH_MS = 8000;
/** RFC 9309 §2.4. */
const ROBOTS_FRESH_MS = 86_400_000;
/** What was seen alive is asked for again a day later, anything else sooner: it may have been put right. */
const ALIVE_PAUSE_MS = 86_400_000;
const OTHER_PAUSE_MS = 6 * 3_600_000;

/**
 * Asks for entries, without a payment, whether they are still sold: one request an hour and host, beside that for its
 * `robots.txt`, by however many processes. One that is killed leaves the host alone for that hour.
 */
export class Prober {
  readonly #rounds = new Rounds(() => this.round());
  readonly #stopping = new AbortController();
  #isTroubled = false;

  constructor(private readonly parts: ProberParts) {}

  start(): void {
    this.#rounds.start();
  }

  /** Breaks off what is asked for: nothing is noted of it. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#rounds.stop();
    await this.parts.fetcher.close();
  }

  /** Asks for what is due, and says how long to pause. Never fails. */
  async round(): Promise<number> {
    const { book, clock, observer } = this.parts;
    try {
      const now = new Date(clock.now());
      const enrolled = await book.enrol(now, PAGE);
      const visits = await book.take(now, HOSTS_AT_ONCE);
      const results = await Promise.allSettled(visits.map((visit) => this.#visit(visit)));
      const failed = results.find((one) => one.status === 'rejected');
      if (failed !== undefined) throw failed.reason;
      if (this.#isTroubled) observer.recovered();
      this.#isTroubled = false;
      return visits.length === HOSTS_AT_ONCE || enrolled === PAGE ? 0 : IDLE_MS;
    } catch (error) {
      this.#isTroubled = true;
      observer.troubled(error);
      return RETRY_MS;
    }
  }

  async #visit(visit: Visit): Promise<void> {
    const visited = await this.#ask(visit);
    // What was broken off says nothing of the seller.
    if (this.#stopping.signal.aborted) return;
    await this.parts.book.finish(visit, visited);
    this.parts.observer.probed(visited.probe.state);
  }

  async #ask({ entry, robots: kept }: Visit): Promise<Visited> {
    const probed = probedUrlOf(entry.listing);
    if (!isUrl(probed)) return this.#visited('unreachable');
    const url = new URL(probed);
    const robots = this.#isFresh(kept, url) ? kept : await this.#robotsOf(url);
    if (typeof robots === 'string') return this.#visited(robots);
    const read = robots === kept ? undefined : robots;
    if (!mayAsk(robots.robots, url)) return this.#visited('robots', undefined, read);
    const method = (entry.listing.method ?? 'GET') as FetchMethod;
    const answer = await this.#fetch(url.href, method, (to) => mayAsk(robots.robots, to));
    if (answer === undefined) return this.#visited('unreachable', undefined, read);
    return this.#visited(stateOf(answer, entry), answer.status, read);
  }

  #isFresh(kept: KeptRobots | undefined, url: URL): kept is KeptRobots {
    const oldest = this.parts.clock.now() - ROBOTS_FRESH_MS;
    return kept?.origin === url.origin && kept.readAt.getTime() > oldest;
  }

  async #robotsOf({ origin }: URL): Promise<KeptRobots | 'unreachable' | 'robots'> {
    const answer = await this.#fetch(`${origin}/robots.txt`, 'GET', () => true);
    if (answer === undefined) return 'unreachable';
    const robots = robotsIn(answer);
    return robots === undefined
      ? 'robots'
      : { origin, robots, readAt: new Date(this.parts.clock.now()) };
  }

  async #fetch(
    url: string,
    method: FetchMethod,
    mayFollow: (to: URL) => boolean,
  ): Promise<FetchAnswer | undefined> {
    const signal = AbortSignal.any([AbortSignal.timeout(FETCH_MS), this.#stopping.signal]);
    const wanted = { url, method, headers: { accept: '*/*' }, body: undefined };
    const { hostname } = new URL(url);
    try {
      return await this.parts.fetcher.fetch(
        wanted,
        signal,
        (to) => to.hostname === hostname && mayFollow(to),
      );
    } catch (error) {
      if (!(error instanceof FetchError)) throw error;
      return undefined;
    }
  }

  #visited(state: ProbeState, status?: number, robots?: KeptRobots): Visited {
    const now = this.parts.clock.now();
    const probe: Probe = { state, status, at: new Date(now) };
    const pause = state === 'alive' ? ALIVE_PAUSE_MS : OTHER_PAUSE_MS;
    return { probe, dueAt: new Date(now + pause), robots };
  }
}

/**
 * RFC 9309 §2.3.1: a host that has no such file allows everything, and one that does not answer as it should
 * nothing, until it does. Nor does one whose file is elsewhere: no host is asked but the one an entry names.
 *
 * @returns `undefined` where nothing may be asked now.
 */
function robotsIn({ status, body, isCutOff }: FetchAnswer): Robots | undefined {
  if (status >= 200 && status < 300) return readRobots(body.toString('utf8'), isCutOff, PRODUCT);
  // Whoever is asked too often is not asked for more.
  const isAbsent = status >= 400 && status < 500 && status !== 429;
  return isAbsent ? [] : undefined;
}
