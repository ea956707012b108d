import type { Address } from 'viem';
import type { CatalogueSource } from '../../platform/config/source-settings.js';
import { caip2Of } from '../../protocol/payment/network.js';
import type { CatalogueFilter } from '../catalogue.js';
import { callOf } from '../postgres/entry-rows.js';
import { AnswerCache } from './answer-cache.js';
import type { ForeignEntry, ForeignOffer } from './foreign-entry.js';
import { Source, type SourceAnswer, type SourceParts, type SourceQuestion } from './source.js';
import { OFFSET_MAX, SourceCursors } from './source-cursor.js';

/** Asked of one source for one page. */
const LIST_MOST = 50;
/** Others have no more for one search, and none to go on by. */
const SEARCH_MOST = 20;
const CACHE = { keptMs: 10_000, maxBytes: 8 * 1_048_576, maxAnswers: 200 };

/** Where something is sold, and to whom the money goes. */
export interface ForeignPlace {
  readonly chainId: number;
  readonly payTo: Address;
  readonly resource: string;
}

/** What our own catalogue has to say of places that others name. */
export interface OwnPlaces {
  /**
   * Which of them are not shown as others have them: those that are listed here, that their payees have taken back
   * here, and that the operator does not list.
   *
   * @returns their indexes.
   * @throws ArchiveError
   */
  withheld(places: readonly ForeignPlace[], since: Date): Promise<ReadonlySet<number>>;
}

export interface FederatedQuestion {
  readonly filter: CatalogueFilter;
  /** `undefined` for a list. */
  readonly text: string | undefined;
}

/** An entry of another catalogue, and which one that is. Offers that were asked for come first. */
export interface MarkedEntry extends ForeignEntry {
  readonly source: string;
}

export interface FederatedPage {
  readonly entries: readonly MarkedEntry[];
  /** Where the next page begins; `undefined` where there is none. */
  readonly next: string | undefined;
  /** Whether a source that may have more did not answer. */
  readonly isPartial: boolean;
}

export interface FederationParts extends Omit<SourceParts, 'cache'> {
  readonly sources: readonly CatalogueSource[];
  /** `undefined` where there is no catalogue of our own. */
  readonly places: OwnPlaces | undefined;
}

/** What came of one source, and how far it was read for this page. */
interface Reading {
  readonly name: string;
  readonly offset: number | undefined;
  readonly answer: SourceAnswer | undefined;
  /** Of the answer's entries, the next that is read. */
  at: number;
}

/** Other catalogues, asked at the time of a question. Nothing of them is kept but for seconds. */
export class Federation {
  readonly #sources: readonly Source[];
  readonly #cursors: SourceCursors;

  constructor(private readonly parts: FederationParts) {
    const cache = new AnswerCache<SourceAnswer>(CACHE, () => parts.clock.steady());
    this.#sources = parts.sources.map((source) => new Source(source, { ...parts, cache }));
    this.#cursors = new SourceCursors(parts.sources);
  }

  /** Where sources are read from that were not read yet. */
  get beginning(): string {
    return this.#cursors.write(this.#cursors.beginning);
  }

  /**
   * Entries of all sources in turn.
   *
   * @param start - {@link FederatedPage.next}, or {@link beginning}.
   * @returns `undefined` where the start is none.
   * @throws ArchiveError
   */
  async page(
    question: FederatedQuestion,
    start: string,
    most: number,
  ): Promise<FederatedPage | undefined> {
    const offsets = this.#cursors.read(start);
    if (offsets === undefined) return undefined;
    const isSearch = question.text !== undefined;
    const readings = await Promise.all(
      this.#sources.map(async (source, n): Promise<Reading> => {
        const offset = offsets[n];
        const answer = offset === undefined ? undefined : await source.ask(asOf(question, offset));
        return { name: source.name, offset, answer, at: isSearch ? (offset ?? 0) : 0 };
      }),
    );
    const picked = inTurn(readings, question.filter, most);
    const isGoingOn = readings.map((reading) => hasMore(reading, isSearch));
    const next = readings.map((reading, n) =>
      isGoingOn[n] ? goneTo(reading, isSearch) : undefined,
    );
    return {
      entries: await this.#shown(picked, question.filter),
      // Sources that do not answer alone are no reason to go on.
      next: isGoingOn.some((goesOn, n) => goesOn && readings[n]?.answer !== undefined)
        ? this.#cursors.write(next)
        : undefined,
      isPartial: readings.some(
        ({ offset, answer }) => offset !== undefined && answer === undefined,
      ),
    };
  }

  /** What is ours, and what is not to be listed here, is not shown as theirs. */
  async #shown(
    entries: readonly MarkedEntry[],
    filter: CatalogueFilter,
  ): Promise<readonly MarkedEntry[]> {
    const { places } = this.parts;
    if (places === undefined || entries.length === 0) return entries;
    const named = entries.flatMap(({ listing: { resource }, offers }) =>
      offers.map(({ chainId, payTo }) => ({ chainId, payTo, resource })),
    );
    const withheld = await places.withheld(named, filter.since);
    let n = 0;
    return entries.flatMap((entry) => {
      const offers = entry.offers.filter(() => !withheld.has(n++));
      return offers.some((offer) => isAskedFor(offer, filter)) ? [{ ...entry, offers }] : [];
    });
  }
}

function asOf({ filter, text }: FederatedQuestion, offset: number): SourceQuestion {
  const { type, payTo, chainId, scheme, asset, maxAmount } = filter;
  const parameters: Record<string, string> = {
    ...(type !== undefined && { type }),
    ...(payTo !== undefined && { payTo }),
    ...(chainId !== undefined && { network: caip2Of(chainId) }),
    ...(scheme !== undefined && { scheme }),
    ...(asset !== undefined && { asset }),
    ...(maxAmount !== undefined && { maxPrice: maxAmount.toString() }),
  };
  return text === undefined
    ? {
        path: 'resources',
        parameters: { ...parameters, limit: String(LIST_MOST), offset: String(offset) },
        most: LIST_MOST,
      }
    : {
        path: 'search',
        parameters: { query: text, ...parameters, limit: String(SEARCH_MOST) },
        most: SEARCH_MOST,
      };
}

/** One of each source, until there are so many or no more. A source that says much does not say all. */
function inTurn(
  readings: readonly Reading[],
  filter: CatalogueFilter,
  most: number,
): readonly MarkedEntry[] {
  const picked = new Map<string, MarkedEntry>();
  const isUnread = ({ at, answer }: Reading): boolean => at < (answer?.entries.length ?? 0);
  while (readings.some(isUnread)) {
    for (const reading of readings) {
      if (picked.size >= most) return [...picked.values()];
      const entry = nextOf(reading, filter, picked);
      if (entry !== undefined) picked.set(nameOf(entry), entry);
    }
  }
  return [...picked.values()];
}

/** Goes on to the next that fits, and that no source before had for this page. */
function nextOf(
  reading: Reading,
  filter: CatalogueFilter,
  picked: ReadonlyMap<string, MarkedEntry>,
): MarkedEntry | undefined {
  const entries = reading.answer?.entries ?? [];
  while (reading.at < entries.length) {
    const read = entries[reading.at];
    reading.at += 1;
    const entry = read && marked(read, reading.name, filter);
    if (entry !== undefined && !picked.has(nameOf(entry))) return entry;
  }
  return undefined;
}

/** Sources may know nothing of what is asked for, so that what they answer is held against it. */
function marked(
  { listing, offers, updatedAt }: ForeignEntry,
  source: string,
  filter: CatalogueFilter,
): MarkedEntry | undefined {
  const { type = listing.type, x402Version = listing.x402Version } = filter;
  if (listing.type !== type || listing.x402Version !== x402Version) return undefined;
  const fitting = offers.filter((offer) => isAskedFor(offer, filter));
  const others = offers.filter((offer) => !fitting.includes(offer));
  return fitting.length === 0
    ? undefined
    : { source, listing, offers: [...fitting, ...others], updatedAt };
}

function isAskedFor(offer: ForeignOffer, filter: CatalogueFilter): boolean {
  const { payTo = offer.payTo, chainId = offer.chainId, scheme = offer.scheme } = filter;
  const { asset = offer.asset, maxAmount = offer.amount } = filter;
  return (
    offer.payTo === payTo &&
    offer.chainId === chainId &&
    offer.scheme === scheme &&
    offer.asset === asset &&
    offer.amount <= maxAmount
  );
}

function nameOf({ listing, offers: [offer] }: MarkedEntry): string {
  const { type, resource } = listing;
  return JSON.stringify([type, resource, callOf(listing), offer?.chainId, offer?.payTo]);
}

function goneTo({ offset = 0, at }: Reading, isSearch: boolean): number {
  return isSearch ? at : offset + at;
}

/** Whether there may be more of it; of one that did not answer there may. */
function hasMore(reading: Reading, isSearch: boolean): boolean {
  const { offset, answer, at } = reading;
  if (offset === undefined) return false;
  if (answer === undefined) return true;
  const { entries, total = Infinity } = answer;
  if (at < entries.length) return goneTo(reading, isSearch) <= OFFSET_MAX;
  const end = offset + entries.length;
  return !isSearch && entries.length > 0 && end < total && end <= OFFSET_MAX;
}
