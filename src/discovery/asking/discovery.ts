import type { Address } from 'viem';
import { ArchiveError } from '../../history/archive.js';
import { CodedError } from '../../platform/http/coded-error.js';
import { readResourceUrl } from '../../protocol/listing/resource-url.js';
import { caip2Of } from '../../protocol/payment/network.js';
import type { CatalogueEntry, CatalogueFilter, CatalogueReader, Standing } from '../catalogue.js';
import { type ListingCode, MEANINGS } from '../codes.js';
import type { FederatedQuestion, Federation } from '../federation/federation.js';
import { itemOf, itemOfSource, shownProbe } from './item.js';
import {
  type AskedFilter,
  type AskedList,
  type AskedSearch,
  badCursor,
  cursorOf,
  offsetCursorOf,
  readList,
  readMerchant,
  readSearch,
  readStatus,
  sourcesCursorOf,
} from './query.js';

export interface DiscoveryParts {
  /** `undefined` where there is no catalogue. */
  readonly reader: CatalogueReader | undefined;
  /** Catalogues of others; `undefined` where none is asked. */
  readonly federation?: Federation | undefined;
  readonly allow: ReadonlySet<string>;
  readonly expiryMs: number;
  readonly now: () => number;
}

/** The version a path speaks; a client of V1 can buy nothing of a seller that speaks V2 alone. */
export type AskedVersion = 1 | 2;

export type Answer = Readonly<Record<string, unknown>>;

interface Page {
  readonly entries: readonly CatalogueEntry[];
  readonly total: number;
  readonly nextCursor: string | undefined;
}

/** What was seen alive longer ago is not told to be. */
const ALIVE_MS = 7 * 86_400_000;

const NOTHING: Page = { entries: [], total: 0, nextCursor: undefined };

/** What other catalogues add to a page. */
interface Theirs {
  readonly items: readonly Answer[];
  readonly nextCursor: string | undefined;
  /** `undefined` where none is asked. */
  readonly isPartial: boolean | undefined;
}

const NOT_ASKED: Theirs = { items: [], nextCursor: undefined, isPartial: undefined };

/**
 * What the catalogue answers. Without one every list is empty, which is true, and which clients that ask several
 * facilitators can read.
 *
 * @throws CodedError from every method.
 */
export class Discovery {
  constructor(private readonly parts: DiscoveryParts) {}

  /** Whether an answer may differ by the header that asks for our own entries alone. */
  get readsOthers(): boolean {
    return this.parts.federation !== undefined;
  }

  /** @param isAskedByCatalogue - which asks for our own entries alone. */
  async list(query: unknown, version: AskedVersion, isAskedByCatalogue = false): Promise<Answer> {
    const asked = readList(query);
    const { entries, total, nextCursor } = await this.#page(asked, version);
    // Who steps past the end by offsets would be shown the first of theirs again and again.
    const isPastEnd = entries.length === 0 && 'offset' in asked.start && asked.start.offset > 0;
    const hasEnded = nextCursor === undefined && !isPastEnd && !isAskedByCatalogue;
    const room = asked.limit - entries.length;
    const theirs = hasEnded ? await this.#theirs(asked, version, room) : NOT_ASKED;
    return {
      ...{ x402Version: version, items: [...entries.map(itemOf), ...theirs.items] },
      ...(theirs.isPartial !== undefined && { partialResults: theirs.isPartial }),
      pagination: paginationOf(asked, { total, nextCursor: nextCursor ?? theirs.nextCursor }),
    };
  }

  async merchant(query: unknown, version: AskedVersion): Promise<Answer> {
    const { payTo, ...asked } = readMerchant(query);
    if ('sources' in asked.start) throw badCursor();
    const { entries, ...rest } = await this.#page(asked, version);
    return {
      ...{ x402Version: version, payTo, resources: entries.map(itemOf) },
      pagination: paginationOf(asked, rest),
    };
  }

  /** @param isAskedByCatalogue - which asks for our own entries alone. */
  async search(query: unknown, version: AskedVersion, isAskedByCatalogue = false): Promise<Answer> {
    const asked = readSearch(query);
    const { text, limit, start } = asked;
    // Without words it is a list, the newest first.
    const { entries, method } = await this.#found(asked, version);
    const shown = entries.slice(0, limit);
    const hasEnded = entries.length <= limit && !isAskedByCatalogue;
    const room = limit - shown.length;
    const theirs = hasEnded ? await this.#theirs(asked, version, room, text) : NOT_ASKED;
    const next =
      entries.length > limit && 'offset' in start
        ? offsetCursorOf(start.offset + limit)
        : theirs.nextCursor;
    return {
      ...{ x402Version: version, resources: [...shown.map(itemOf), ...theirs.items] },
      partialResults: theirs.isPartial ?? false,
      searchMethod: text === '' ? 'text' : method,
      pagination: { limit, cursor: next ?? null },
    };
  }

  /** Whether a resource is listed, and else why not. */
  async status(query: unknown): Promise<Answer> {
    const { resource: said, payTo } = readStatus(query);
    const url = readResourceUrl(said, 'resource', this.parts.allow);
    if ('code' in url) return standing(said, url.code, []);
    const resource = url.origin + url.path;
    const { reader } = this.parts;
    if (reader === undefined) return standing(resource, 'catalogue_off', []);
    const found = await asked(reader.standings({ resource, payTo }, this.#since));
    const isListed = found.some(({ code }) => code === 'listed');
    return standing(resource, isListed ? 'listed' : (found[0]?.code ?? 'unknown'), found);
  }

  async #found({ filter, text, limit, start }: AskedSearch, version: AskedVersion) {
    const { reader } = this.parts;
    if (reader === undefined || filter === undefined || 'sources' in start) {
      return { entries: [], method: 'text' };
    }
    const whole = this.#filterOf(filter, version);
    // One more says whether there is another page.
    return text === ''
      ? { entries: await asked(reader.page(whole, start, limit + 1)), method: 'text' }
      : asked(reader.search(whole, text, start, limit + 1));
  }

  async #page({ filter, start, limit, offset }: AskedList, version: AskedVersion): Promise<Page> {
    const { reader } = this.parts;
    if (reader === undefined || filter === undefined) return NOTHING;
    const whole = this.#filterOf(filter, version);
    const [found, count] = await asked(
      Promise.all([
        'sources' in start ? [] : reader.page(whole, start, limit + 1),
        reader.count(whole),
      ]),
    );
    const entries = found.slice(0, limit);
    const last = entries.at(-1);
    return {
      entries,
      // Counted beside the page: something may have been listed in between.
      total: found.length === 0 ? count : Math.max(count, offset + found.length),
      nextCursor: last === undefined || found.length <= limit ? undefined : cursorOf(last.position),
    };
  }

  /** Behind the last of our own; nothing of it is counted. */
  async #theirs(
    { filter, start, isOwnOnly }: AskedList | AskedSearch,
    version: AskedVersion,
    room: number,
    text?: string,
  ): Promise<Theirs> {
    const { federation } = this.parts;
    if (federation === undefined) {
      if ('sources' in start) throw badCursor();
      return NOT_ASKED;
    }
    if (filter === undefined || isOwnOnly) return NOT_ASKED;
    const begin = 'sources' in start ? start.sources : federation.beginning;
    if (room === 0) {
      return { items: [], nextCursor: sourcesCursorOf(begin), isPartial: false };
    }
    const question: FederatedQuestion = { filter: this.#filterOf(filter, version), text };
    const page = await asked(federation.page(question, begin, room));
    if (page === undefined) throw badCursor();
    return {
      items: page.entries.map(itemOfSource),
      nextCursor: page.next === undefined ? undefined : sourcesCursorOf(page.next),
      isPartial: page.isPartial,
    };
  }

  #filterOf({ isAlive, ...filter }: AskedFilter, version: AskedVersion): CatalogueFilter {
    return {
      ...{ ...filter, since: this.#since, ...(version === 1 && { x402Version: 1 as const }) },
      ...(isAlive && { aliveSince: new Date(this.parts.now() - ALIVE_MS) }),
    };
  }

  get #since(): Date {
    return new Date(this.parts.now() - this.parts.expiryMs);
  }
}

function paginationOf(
  { limit, offset }: AskedList,
  { total, nextCursor }: Omit<Page, 'entries'>,
): Answer {
  return { limit, offset, total, ...(nextCursor !== undefined && { nextCursor }) };
}

function standing(resource: string, code: ListingCode, found: readonly Standing[]): Answer {
  return {
    ...{ resource, listed: code === 'listed', code, message: MEANINGS[code] },
    known: found.map((one) => ({
      ...{ payTo: one.payTo satisfies Address, network: caip2Of(one.chainId) },
      ...{ resource: one.resource, ...(one.call !== undefined && { call: one.call }) },
      ...{ listed: one.code === 'listed', code: one.code, message: MEANINGS[one.code] },
      ...(one.path !== undefined && { path: one.path }),
      at: one.at.toISOString(),
      ...(one.probe !== undefined && { probe: shownProbe(one.probe) }),
    })),
  };
}

/** What the catalogue could not be asked is neither listed nor unknown. */
async function asked<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    if (!(error instanceof ArchiveError)) throw error;
    throw new CodedError(
      503,
      'catalogue_unavailable',
      'The catalogue cannot be asked now; ask again.',
      error,
    );
  }
}
