import { Inject, Injectable, Optional } from '@nestjs/common';
import type { Address } from 'viem';
import { ArchiveError } from '../../history/archive.js';
import { Clock } from '../../platform/concurrency/clock.js';
import { CodedError, invalidQuery } from '../../platform/http/coded-error.js';
import { readResourceUrl } from '../../protocol/listing/resource-url.js';
import { caip2Of } from '../../protocol/payment/network.js';
import { readAddress } from '../../protocol/payment/wire-values.js';
import {
  type CatalogueEntry,
  type CatalogueFilter,
  CatalogueReader,
  type FoundEntries,
  type ListingState,
} from '../catalogue.js';
import { CatalogueSettings } from '../catalogue-settings.js';
import { type ListingCode, MEANINGS } from '../codes.js';
import {
  ListQueryDto,
  MerchantQueryDto,
  SearchQueryDto,
  StatusQueryDto,
} from './dto/discovery-query.dto.js';
import { itemOf } from './item.js';
import {
  type AskedFilter,
  type AskedList,
  type AskedSearch,
  cursorOf,
  listOf,
  offsetCursorOf,
  searchOf,
} from './query.js';

/** The version a path speaks; a client of V1 can buy nothing of a seller that speaks V2 alone. */
export type AskedVersion = 1 | 2;

export type Answer = Readonly<Record<string, unknown>>;

interface Page {
  readonly entries: readonly CatalogueEntry[];
  readonly total: number;
  readonly nextCursor: string | undefined;
}

/** Of a text that is to be searched for. */
export const UNREADABLE = 'has no words, or more signs than can be read';

const NOTHING: Page = { entries: [], total: 0, nextCursor: undefined };

/**
 * What the catalogue answers. Without one every list is empty, which is true, and which clients that ask several
 * facilitators can read.
 *
 * @throws CodedError from every method.
 */
@Injectable()
export class Discovery {
  constructor(
    @Inject(CatalogueSettings)
    private readonly settings: Pick<CatalogueSettings, 'allow' | 'expiryMs'>,
    @Inject(Clock) private readonly clock: Pick<Clock, 'now'>,
    @Optional() @Inject(CatalogueReader) private readonly reader?: CatalogueReader,
  ) {}

  async list(query: ListQueryDto, version: AskedVersion): Promise<Answer> {
    const asked = listOf(query);
    const { entries, ...rest } = await this.#page(asked, version);
    return {
      x402Version: version,
      items: entries.map(itemOf),
      pagination: paginationOf(asked, rest),
    };
  }

  async merchant(query: MerchantQueryDto, version: AskedVersion): Promise<Answer> {
    const asked = listOf(query);
    const { entries, ...rest } = await this.#page(asked, version);
    return {
      x402Version: version,
      payTo: readAddress(query.payTo),
      resources: entries.map(itemOf),
      pagination: paginationOf(asked, rest),
    };
  }

  async search(query: SearchQueryDto, version: AskedVersion): Promise<Answer> {
    const asked = searchOf(query);
    const { text, limit, start } = asked;
    // Without words it is a list.
    const found = await this.#found(asked, version);
    if (found === 'unreadable') throw invalidQuery(`query ${UNREADABLE}.`);
    const { entries, method } = found;
    const next = entries.length > limit ? offsetCursorOf(start.offset + limit) : undefined;
    return {
      x402Version: version,
      resources: entries.slice(0, limit).map(itemOf),
      partialResults: false,
      searchMethod: text === '' ? 'text' : method,
      pagination: { limit, cursor: next ?? null },
    };
  }

  /** Whether a resource is listed, and else why not. */
  async status({ resource: declared, ...query }: StatusQueryDto): Promise<Answer> {
    const payTo = readAddress(query.payTo);
    const url = readResourceUrl(declared, 'resource', this.settings.allow);
    if ('code' in url) return standing(declared, url.code, []);
    const resource = url.origin + url.path;
    const { reader } = this;
    if (reader === undefined) return standing(resource, 'catalogue_off', []);
    const found = await asked(reader.listingStates({ resource, payTo }, this.#since));
    const isListed = found.some(({ code }) => code === 'listed');
    return standing(resource, isListed ? 'listed' : (found[0]?.code ?? 'unknown'), found);
  }

  async #found(
    { filter, text, limit, start }: AskedSearch,
    version: AskedVersion,
  ): Promise<FoundEntries | 'unreadable'> {
    const { reader } = this;
    if (reader === undefined || filter === undefined) return { entries: [], method: 'text' };
    const whole = this.#filterOf(filter, version);
    // One more says whether there is another page.
    return text === ''
      ? { entries: await asked(reader.page(whole, start, limit + 1)), method: 'text' }
      : asked(reader.search(whole, text, start, limit + 1));
  }

  async #page({ filter, start, limit, offset }: AskedList, version: AskedVersion): Promise<Page> {
    const { reader } = this;
    if (reader === undefined || filter === undefined) return NOTHING;
    const whole = this.#filterOf(filter, version);
    const [found, count] = await asked(
      Promise.all([reader.page(whole, start, limit + 1), reader.count(whole)]),
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

  #filterOf(filter: AskedFilter, version: AskedVersion): CatalogueFilter {
    return { ...filter, since: this.#since, x402Version: version === 1 ? 1 : undefined };
  }

  get #since(): Date {
    return new Date(this.clock.now() - this.settings.expiryMs);
  }
}

function paginationOf(
  { limit, offset }: AskedList,
  { total, nextCursor }: Omit<Page, 'entries'>,
): Answer {
  return { limit, offset, total, ...(nextCursor !== undefined && { nextCursor }) };
}

function standing(resource: string, code: ListingCode, found: readonly ListingState[]): Answer {
  return {
    resource,
    listed: code === 'listed',
    code,
    message: MEANINGS[code],
    known: found.map((one) => ({
      payTo: one.payTo satisfies Address,
      network: caip2Of(one.chainId),
      resource: one.resource,
      ...(one.call !== undefined && { call: one.call }),
      listed: one.code === 'listed',
      code: one.code,
      message: MEANINGS[one.code],
      ...(one.path !== undefined && { path: one.path }),
      at: one.at.toISOString(),
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
      'The catalogue is unavailable. Try again.',
      error,
    );
  }
}
