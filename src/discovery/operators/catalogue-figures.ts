import { Inject, Injectable } from '@nestjs/common';
import { Clock } from '../../platform/concurrency/clock.js';
import { CatalogueSettings } from '../catalogue-settings.js';
import { CatalogueIndexer } from '../indexing/catalogue-indexer.js';
import { type CatalogueCounts, PostgresCounts } from '../postgres/postgres-counts.js';

/** Counting reads every entry, so the result is cached for this long. */
const COUNTED_FOR_MS = 60_000;

/** Figures of the catalogue, in processes that index it. */
@Injectable()
export class CatalogueFigures {
  #counted: { readonly at: number; readonly counts: Promise<CatalogueCounts> } | undefined;

  constructor(
    @Inject(PostgresCounts) private readonly counter: Pick<PostgresCounts, 'count'>,
    @Inject(CatalogueIndexer) private readonly indexer: Pick<CatalogueIndexer, 'lags'>,
    @Inject(CatalogueSettings) private readonly settings: Pick<CatalogueSettings, 'expiryMs'>,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  /** At most a minute old. @throws ArchiveError */
  counts(): Promise<CatalogueCounts> {
    const at = this.clock.steady();
    if (this.#counted !== undefined && at - this.#counted.at < COUNTED_FOR_MS) {
      return this.#counted.counts;
    }
    const counted = {
      at,
      counts: this.counter.count(new Date(this.clock.now() - this.settings.expiryMs)),
    };
    this.#counted = counted;
    // A failed query is repeated by the next caller.
    counted.counts.catch(() => {
      if (this.#counted === counted) this.#counted = undefined;
    });
    return counted.counts;
  }

  /** See {@link CatalogueIndexer.lags}. */
  lags(): ReadonlyMap<number, number> {
    return this.indexer.lags();
  }
}
