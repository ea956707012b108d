import type { Clock } from '../../platform/concurrency/clock.js';
import type { Learner } from '../learning/learner.js';
import type { DenialKind } from './moderation-store.js';

/** How much there is in the catalogue. */
export interface CatalogueCounts {
  /** Entries that anybody is shown, by chain. */
  readonly listed: ReadonlyMap<number, number>;
  readonly denials: Readonly<Record<DenialKind, number>>;
}

interface CatalogueFiguresParts {
  /** @param since - entries that were not paid for since are not shown. */
  readonly count: (since: Date) => Promise<CatalogueCounts>;
  readonly learner: Pick<Learner, 'lags'>;
  /** After this time without a payment an entry is not shown any more, ms. */
  readonly expiryMs: number;
  readonly clock: Clock;
}

/** Counting reads every entry: whoever asks more often hears the same. */
const COUNTED_FOR_MS = 60_000;

/** What is measured of the catalogue, in processes that learn. */
export class CatalogueFigures {
  #counted: { readonly at: number; readonly counts: Promise<CatalogueCounts> } | undefined;

  constructor(private readonly parts: CatalogueFiguresParts) {}

  /** At most a minute old. @throws ArchiveError */
  counts(): Promise<CatalogueCounts> {
    const { clock, count, expiryMs } = this.parts;
    const at = clock.steady();
    if (this.#counted !== undefined && at - this.#counted.at < COUNTED_FOR_MS) {
      return this.#counted.counts;
    }
    const counted = { at, counts: count(new Date(clock.now() - expiryMs)) };
    this.#counted = counted;
    // What failed is asked again by the next.
    counted.counts.catch(() => {
      if (this.#counted === counted) this.#counted = undefined;
    });
    return counted.counts;
  }

  /** See {@link Learner.lags}. */
  lags(): ReadonlyMap<number, number> {
    return this.parts.learner.lags();
  }
}
