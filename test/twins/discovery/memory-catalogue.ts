import type { Address } from 'viem';
import type {
  CatalogueEntry,
  CatalogueFilter,
  CatalogueOffer,
  CatalogueReader,
  CatalogueUpdate,
  CatalogueWriter,
  ClaimOutcome,
  EntryPosition,
  FoundEntries,
  ListingState,
  PageStart,
  Paid,
  UpdateResult,
} from '../../../src/discovery/catalogue.js';
import type { RefusalCode } from '../../../src/discovery/codes.js';
import type { Refusal } from '../../../src/discovery/declared.js';
import type { EntryName, Statement } from '../../../src/discovery/owned/statement.js';
import type { StatementStore } from '../../../src/discovery/owned/statements.js';
import {
  callOf,
  entryIdNamed,
  entryIdOf,
  hostOf,
  isTemplate,
  placeNamed,
  placeOf,
  searchedOf,
  withExamples,
} from '../../../src/discovery/postgres/entry-rows.js';
import { correctedBy } from '../../../src/discovery/postgres/statement-rows.js';
import { type Quality, thousandths } from '../../../src/discovery/quality/quality.js';
import type { Listing } from '../../../src/protocol/listing/listing.js';
import { standsFor } from '../../../src/protocol/listing/resource-url.js';

interface Kept {
  readonly id: string;
  readonly chainId: number;
  readonly payTo: Address;
  listing: Listing;
  declaredAt: number;
  firstPaidAt: number;
  lastPaidAt: number;
  readonly offers: Map<string, CatalogueOffer & { readonly paidAt: number }>;
}

interface Refused {
  readonly chainId: number;
  readonly payTo: Address;
  readonly resource: string;
  readonly isTemplate: boolean;
  readonly code: RefusalCode;
  readonly path: string | undefined;
  readonly at: number;
}

/** A catalogue in memory, which keeps the contract of the one in PostgreSQL. */
export class MemoryCatalogue implements CatalogueWriter, CatalogueReader, StatementStore {
  readonly denied = new Set<string>();
  /** What the history knows, by id. */
  readonly history = new Map<string, ClaimOutcome>();
  readonly ratings = new Map<string, Quality>();
  readonly #entries = new Map<string, Kept>();
  readonly #refusals = new Map<string, Refused>();
  readonly #statements = new Map<string, Statement & { readonly isTemplate: boolean }>();

  constructor(private readonly entriesPerPayee = 500) {}

  /** Of an entry that is there. */
  payTo(id: string): Address | undefined {
    return this.#entries.get(id)?.payTo;
  }

  outcomes(_chainId: number, ids: readonly string[]): Promise<ReadonlyMap<string, ClaimOutcome>> {
    return Promise.resolve(
      new Map(
        ids.flatMap((id) => {
          const outcome = this.history.get(id);
          return outcome === undefined ? [] : [[id, outcome] as const];
        }),
      ),
    );
  }

  update(lessons: readonly CatalogueUpdate[]): Promise<UpdateResult> {
    const codes = lessons.map((lesson) => this.#update(lesson));
    const listed = codes.filter((code) => code === undefined).length;
    return Promise.resolve({ listed, refused: codes.length - listed });
  }

  forget(before: Date): Promise<void> {
    for (const [id, { lastPaidAt }] of this.#entries) {
      if (lastPaidAt < before.getTime()) this.#entries.delete(id);
    }
    for (const [name, { at }] of this.#refusals) {
      if (at < before.getTime()) this.#refusals.delete(name);
    }
    return Promise.resolve();
  }

  page(
    filter: CatalogueFilter,
    start: PageStart,
    most: number,
  ): Promise<readonly CatalogueEntry[]> {
    const all = this.#fitting(filter);
    const from =
      'offset' in start
        ? start.offset
        : all.findIndex((entry) => compare(entry.position, start.after) > 0);
    return Promise.resolve(from < 0 ? [] : all.slice(from, from + most));
  }

  count(filter: CatalogueFilter): Promise<number> {
    return Promise.resolve(this.#fitting(filter).length);
  }

  search(
    filter: CatalogueFilter,
    text: string,
    { offset }: { readonly offset: number },
    most: number,
  ): Promise<FoundEntries | 'unreadable'> {
    if (!hasWords(text)) return Promise.resolve('unreadable');
    const wanted = text.toLowerCase();
    const entries = this.#fitting(filter).filter(({ listing }) =>
      Object.values(searchedOf(listing)).some((said) => said.toLowerCase().includes(wanted)),
    );
    return Promise.resolve({ entries: entries.slice(offset, offset + most), method: 'text' });
  }

  listingStates(
    { resource, payTo }: Parameters<CatalogueReader['listingStates']>[0],
    since: Date,
  ): Promise<readonly ListingState[]> {
    const isOf = (one: Address): boolean => payTo === undefined || payTo === one;
    const isAt = (known: string, isOfMany: boolean): boolean =>
      known === resource || (isOfMany && standsFor(known, resource));
    const entries = [...this.#entries.values()]
      .filter(({ listing }) => isAt(listing.resource, isTemplate(listing)))
      .map((kept): ListingState => {
        const code = this.#isDenied(kept)
          ? 'denied'
          : kept.lastPaidAt < since.getTime()
            ? 'expired'
            : 'listed';
        return {
          chainId: kept.chainId,
          payTo: kept.payTo,
          resource: kept.listing.resource,
          code,
          call: callOf(kept.listing),
          path: undefined,
          at: new Date(kept.lastPaidAt),
        };
      });
    const refusals = [...this.#refusals.values()]
      .filter((refused) => isAt(refused.resource, refused.isTemplate))
      .map(({ isTemplate: _, at, ...refused }): ListingState => ({
        ...refused,
        call: undefined,
        at: new Date(at),
      }));
    const removed = [...this.#statements]
      .filter(([id]) => this.#standing(id)?.action === 'remove')
      .filter(([, one]) => isAt(one.resource, one.isTemplate))
      .map(([, one]): ListingState => ({
        chainId: one.chainId,
        payTo: one.payTo,
        resource: one.resource,
        call: one.call,
        code: 'removed',
        path: undefined,
        at: new Date(one.issuedAt),
      }));
    return Promise.resolve([...entries, ...refusals, ...removed].filter((one) => isOf(one.payTo)));
  }

  standing(entry: EntryName): ReturnType<StatementStore['standing']> {
    const id = entryIdNamed(entry).toString('hex');
    const lastIssuedAt = this.#statements.get(id)?.issuedAt;
    const isKnown = lastIssuedAt !== undefined || this.#entries.has(id);
    return Promise.resolve(isKnown ? { lastIssuedAt } : undefined);
  }

  write(statement: Statement): ReturnType<StatementStore['write']> {
    const id = entryIdNamed(statement).toString('hex');
    const before = this.#statements.get(id);
    const kept = this.#entries.get(id);
    if (before === undefined && kept === undefined) return Promise.resolve('unknown');
    if (before !== undefined && before.issuedAt >= statement.issuedAt) {
      return Promise.resolve('stale');
    }
    const isOfMany = kept === undefined ? before?.isTemplate === true : isTemplate(kept.listing);
    this.#statements.set(id, { ...statement, isTemplate: isOfMany });
    if (statement.action === 'remove') this.#entries.delete(id);
    if (kept !== undefined) kept.listing = correctedBy(kept.listing, statement);
    return Promise.resolve('written');
  }

  #standing(id: string): Statement | undefined {
    const statement = this.#statements.get(id);
    return (statement?.endsAt ?? Infinity) > Date.now() ? statement : undefined;
  }

  #update({ paid, declared }: CatalogueUpdate): RefusalCode | undefined {
    if ('code' in declared) return this.#refuse(paid, declared);
    const id = entryIdOf(paid, declared.listing).toString('hex');
    const statement = this.#standing(id);
    if (statement?.action === 'remove') return 'removed';
    const listing = correctedBy(declared.listing, statement);
    const { resource } = listing;
    const isDenied = this.denied.has(paid.payTo) || this.denied.has(hostOf(resource));
    if (isDenied) return this.#refuse(paid, { code: 'denied', ...placeNamed(listing) });
    const others = [...this.#entries.values()].filter(
      (one) => one.id !== id && one.payTo === paid.payTo && one.chainId === paid.chainId,
    );
    if (others.length >= this.entriesPerPayee) {
      return this.#refuse(paid, { code: 'payee_quota', ...placeNamed(listing) });
    }
    const [claimedAt, paidAt] = [paid.claimedAt.getTime(), paid.paidAt.getTime()];
    const kept: Kept = this.#entries.get(id) ?? {
      id,
      chainId: paid.chainId,
      payTo: paid.payTo,
      listing,
      declaredAt: claimedAt,
      firstPaidAt: paidAt,
      lastPaidAt: paidAt,
      offers: new Map(),
    };
    kept.firstPaidAt = Math.min(kept.firstPaidAt, paidAt);
    kept.lastPaidAt = Math.max(kept.lastPaidAt, paidAt);
    if (claimedAt >= kept.declaredAt) {
      kept.listing = withExamples(listing, this.#entries.get(id)?.listing);
      kept.declaredAt = claimedAt;
    }
    const { scheme, asset, method } = paid;
    const name = `${scheme} ${asset} ${method}`;
    if ((kept.offers.get(name)?.paidAt ?? 0) <= paidAt) {
      const { offer } = listing;
      kept.offers.set(name, { scheme, asset, amount: paid.amount.toString(), offer, paidAt });
    }
    this.#entries.set(id, kept);
    this.#refusals.delete(`${paid.chainId} ${paid.payTo} ${resource}`);
    return undefined;
  }

  #refuse(
    { chainId, payTo, paidAt }: Paid,
    { code, path, resource = '', isTemplate = false }: Refusal,
  ): RefusalCode {
    const at = paidAt.getTime();
    this.#refusals.set(`${chainId} ${payTo} ${resource}`, {
      chainId,
      payTo,
      resource,
      isTemplate,
      code,
      path,
      at,
    });
    return code;
  }

  #isDenied({ payTo, listing }: Pick<Kept, 'payTo' | 'listing'>): boolean {
    return this.denied.has(payTo) || this.denied.has(hostOf(listing.resource));
  }

  #fitting(filter: CatalogueFilter): CatalogueEntry[] {
    const { type, payTo, chainId, x402Version, scheme, asset, maxAmount, since } = filter;
    return [...this.#entries.values()]
      .filter((kept) => kept.lastPaidAt >= since.getTime() && !this.#isDenied(kept))
      .filter(({ listing }) => type === undefined || listing.type === type)
      .filter(({ listing }) => x402Version === undefined || listing.x402Version === x402Version)
      .filter((kept) => payTo === undefined || kept.payTo === payTo)
      .filter((kept) => chainId === undefined || kept.chainId === chainId)
      .filter(({ offers }) =>
        [...offers.values()].some(
          (offer) =>
            (scheme === undefined || offer.scheme === scheme) &&
            (asset === undefined || offer.asset === asset) &&
            (maxAmount === undefined || BigInt(offer.amount) <= maxAmount),
        ),
      )
      .map((kept) => ({
        chainId: kept.chainId,
        payTo: kept.payTo,
        listing: kept.listing,
        offers: [...kept.offers.values()]
          .sort((a, b) => b.paidAt - a.paidAt)
          .map(({ scheme: ofScheme, asset: ofAsset, amount, offer }) => ({
            scheme: ofScheme,
            asset: ofAsset,
            amount,
            offer,
          })),
        firstPaidAt: new Date(kept.firstPaidAt),
        lastPaidAt: new Date(kept.lastPaidAt),
        otherPayees: this.#otherPayees(kept),
        quality: this.ratings.get(kept.id),
        position: {
          score: thousandths(this.ratings.get(kept.id)?.score ?? 0),
          paidAt: kept.lastPaidAt,
          id: kept.id,
        },
      }))
      .sort((a, b) => compare(a.position, b.position));
  }

  #otherPayees({ listing, payTo }: Kept): number {
    const others = [...this.#entries.values()]
      .filter((one) => placeOf(one.listing).equals(placeOf(listing)))
      .map((one) => one.payTo);
    return new Set(others.filter((one) => one !== payTo)).size;
  }
}

/** Whether there is something to look for in a text. */
export const hasWords = (text: string): boolean => /[\p{L}\p{N}]/u.test(text);

/** The first of a list comes first. */
function compare(a: EntryPosition, b: EntryPosition): number {
  return b.score - a.score || b.paidAt - a.paidAt || (a.id === b.id ? 0 : a.id < b.id ? 1 : -1);
}
