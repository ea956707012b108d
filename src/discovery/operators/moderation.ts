import { Inject, Injectable, Optional } from '@nestjs/common';
import { Clock } from '../../platform/concurrency/clock.js';
import { CodedError, invalidQuery, invalidRequest } from '../../platform/http/coded-error.js';
import { cut } from '../../platform/http/paging.js';
import { placeOf } from '../../protocol/diagnosis/place.js';
import { plainText } from '../../protocol/listing/seller-words.js';
import { caip2Of } from '../../protocol/payment/network.js';
import { readAddress } from '../../protocol/payment/wire-values.js';
import { READABLE, UNREADABLE } from '../asking/discovery.js';
import { forOperators } from '../catalogue-problems.js';
import { CatalogueSettings } from '../catalogue-settings.js';
import { MEANINGS } from '../codes.js';
import { denialNameOf, nameOf, readHost, REASON_MAX } from './denial-name.js';
import { DenialsQueryDto, EntriesQueryDto, VerdictDto } from './dto/moderation.dto.js';
import type {
  CatalogueAllowed,
  CatalogueDenials,
  CatalogueDenied,
  CatalogueEntries,
  CatalogueEntry,
} from './dto/moderation.response.js';
import { type Denial, type ModeratedEntry, ModerationStore } from './moderation-store.js';

/** Limit, because every list reads all denials for each page. */
export const DENIALS_MOST = 10_000;

/**
 * The catalogue as operators see and change it.
 *
 * @throws CodedError from every method: `invalid_query`, `invalid_request`, `invalid_cursor`, `catalogue_off`,
 *   `catalogue_unavailable`, `catalogue_too_slow`.
 */
@Injectable()
export class Moderation {
  constructor(
    @Inject(CatalogueSettings) private readonly settings: Pick<CatalogueSettings, 'expiryMs'>,
    @Inject(Clock) private readonly clock: Pick<Clock, 'now'>,
    @Optional() @Inject(ModerationStore) private readonly store?: ModerationStore,
  ) {}

  /** Entries, listed or not, with what hides them. */
  async entries({ text, payTo, host, limit, after }: EntriesQueryDto): Promise<CatalogueEntries> {
    const store = this.#store();
    const filter = {
      text: text?.trim() === '' ? undefined : text?.trim(),
      payTo: readAddress(payTo),
      host: host === undefined ? undefined : readHost(host),
    };
    const found = await forOperators(store.entries(filter, after, limit + 1));
    if (found === 'unreadable')
      throw invalidQuery(`text ${UNREADABLE}.`, { path: 'text', expected: READABLE });
    const { shown, last } = cut(known(found), limit);
    return {
      entries: shown.map((entry) => this.#entryView(entry)),
      ...(last && { next: last.id }),
    };
  }

  async denials({ kind, value, limit, after }: DenialsQueryDto): Promise<CatalogueDenials> {
    const store = this.#store();
    const filter = {
      kind,
      value: value === undefined ? undefined : (readAddress(value) ?? readHost(value)),
    };
    const place = after === undefined ? undefined : denialNameOf(after);
    const found = await forOperators(store.denials(filter, place, limit + 1));
    const { shown, last } = cut(known(found), limit);
    return { denials: shown, ...(last && { next: `${last.kind}:${last.value}` }) };
  }

  /** @param by - id of the API key. */
  async deny(verdict: VerdictDto, by: string): Promise<CatalogueDenied> {
    const denial = this.#denialOf(verdict, by);
    const outcome = await forOperators(this.#store().deny(denial, DENIALS_MOST));
    if (outcome === 'full') {
      throw new CodedError(
        409,
        'denials_full',
        `${DENIALS_MOST} payees and hosts are denied, which is the maximum. First allow a payee or a host that no longer sells.`,
      );
    }
    return { outcome, denial };
  }

  /** @param by - id of the API key. */
  async allow(verdict: VerdictDto, by: string): Promise<CatalogueAllowed> {
    const { kind, value, ...rest } = this.#denialOf(verdict, by);
    const outcome = await forOperators(this.#store().allow({ kind, value, ...rest }));
    return { outcome, kind, value };
  }

  /** @throws CodedError `catalogue_off` */
  #store(): ModerationStore {
    if (this.store !== undefined) return this.store;
    throw new CodedError(501, 'catalogue_off', MEANINGS.catalogue_off);
  }

  #denialOf({ kind, value, reason }: VerdictDto, by: string): Denial {
    const name = nameOf(kind, value);
    if (name === undefined) {
      const expected =
        kind === 'payee'
          ? 'an address: 0x and 40 hex digits'
          : 'a host, without scheme, port and path';
      throw invalidRequest(`value must be ${expected}.`, placeOf('value', expected, value));
    }
    const { text = '' } = plainText(reason, REASON_MAX);
    return { ...name, reason: text, by, at: new Date(this.clock.now()) };
  }

  #entryView({ chainId, listing, denials, lastPaidAt, ...entry }: ModeratedEntry): CatalogueEntry {
    const { type, resource, method, toolName, serviceName, description } = listing;
    const isExpired = lastPaidAt.getTime() < this.clock.now() - this.settings.expiryMs;
    return {
      ...entry,
      state: denials.length > 0 ? 'denied' : isExpired ? 'expired' : 'listed',
      network: caip2Of(chainId),
      type,
      resource,
      call: toolName ?? method ?? '',
      serviceName,
      description,
      lastPaidAt,
      denials,
    };
  }
}

/** @throws CodedError where the entry that the page before ended with is gone. */
function known<T>(found: readonly T[] | undefined): readonly T[] {
  if (found !== undefined) return found;
  const message =
    'The last entry of the previous page no longer exists. Start again without `after`.';
  const place = { path: 'after', expected: '`next` of a page whose last entry still exists' };
  throw new CodedError(400, 'invalid_cursor', message, { place });
}
