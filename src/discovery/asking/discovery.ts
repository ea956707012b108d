import { Inject, Injectable, Optional } from '@nestjs/common';
import { Clock } from '../../platform/concurrency/clock.js';
import { invalidQuery } from '../../platform/http/coded-error.js';
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
import { fromCatalogue } from '../catalogue-problems.js';
import { CatalogueSettings } from '../catalogue-settings.js';
import { type ListingCode, MEANINGS } from '../codes.js';
import type {
  DiscoveryList,
  DiscoveryMerchant,
  DiscoverySearch,
  DiscoveryStatus,
} from './dto/discovery.response.js';
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

/** The protocol version of a path; a V1 client cannot buy from a seller with only V2. */
export type AskedVersion = 1 | 2;

interface Page {
  readonly entries: readonly CatalogueEntry[];
  readonly total: number;
  readonly nextCursor: string | undefined;
}

/** For a search text. */
export const UNREADABLE = 'has no words, or more signs than can be read';
export const READABLE = 'words';

const NOTHING: Page = { entries: [], total: 0, nextCursor: undefined };

/**
 * Answers queries about the catalogue. Without a catalogue every list is empty, which is true and readable for clients
 * that query several facilitators.
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

  async list(query: ListQueryDto, version: AskedVersion): Promise<DiscoveryList> {
    const asked = listOf(query);
    const { entries, ...rest } = await this.#page(asked, version);
    return {
      x402Version: version,
      items: entries.map(itemOf),
      pagination: paginationOf(asked, rest),
    };
  }

  async merchant(query: MerchantQueryDto, version: AskedVersion): Promise<DiscoveryMerchant> {
    const asked = listOf(query);
    const { entries, ...rest } = await this.#page(asked, version);
    return {
      x402Version: version,
      payTo: query.payTo.toLowerCase(),
      resources: entries.map(itemOf),
      pagination: paginationOf(asked, rest),
    };
  }

  async search(query: SearchQueryDto, version: AskedVersion): Promise<DiscoverySearch> {
    const asked = searchOf(query);
    const { text, limit, start } = asked;
    // Without a search text it is a list.
    const found = await this.#found(asked, version);
    if (found === 'unreadable')
      throw invalidQuery(`query ${UNREADABLE}.`, { path: 'query', expected: READABLE });
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

  /** Whether a resource is listed, and otherwise the reason. */
  async status({ resource: declared, ...query }: StatusQueryDto): Promise<DiscoveryStatus> {
    const payTo = readAddress(query.payTo);
    const url = readResourceUrl(declared, 'resource', this.settings.allow);
    if ('code' in url) return standing(declared, url.code, []);
    const resource = url.origin + url.path;
    const { reader } = this;
    if (reader === undefined) return standing(resource, 'catalogue_off', []);
    const found = await fromCatalogue(reader.listingStates({ resource, payTo }, this.#since));
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
    // One more than the limit is read, to know whether there is another page.
    return text === ''
      ? { entries: await fromCatalogue(reader.page(whole, start, limit + 1)), method: 'text' }
      : fromCatalogue(reader.search(whole, text, start, limit + 1));
  }

  async #page({ filter, start, limit, offset }: AskedList, version: AskedVersion): Promise<Page> {
    const { reader } = this;
    if (reader === undefined || filter === undefined) return NOTHING;
    const whole = this.#filterOf(filter, version);
    const [found, count] = await fromCatalogue(
      Promise.all([reader.page(whole, start, limit + 1), reader.count(whole)]),
    );
    const entries = found.slice(0, limit);
    const last = entries.at(-1);
    return {
      entries,
      // Counted separately from the page, so an entry may have been listed in between.
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
): DiscoveryList['pagination'] {
  return { limit, offset, total, ...(nextCursor !== undefined && { nextCursor }) };
}

function standing(
  resource: string,
  code: ListingCode,
  found: readonly ListingState[],
): DiscoveryStatus {
  return {
    resource,
    listed: code === 'listed',
    code,
    message: MEANINGS[code],
    known: found.map((one) => ({
      payTo: one.payTo,
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
