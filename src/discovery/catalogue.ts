import type { Address } from 'viem';
import type { ListedOffer, Listing, ListingType } from '../protocol/listing/listing.js';
import type { RefusalCode } from './codes.js';
import type { Declared } from './declared.js';
import type { Quality } from './quality/quality.js';

/** A payment that was made, as the history has it. */
export interface Paid {
  readonly chainId: number;
  readonly payTo: Address;
  readonly scheme: string;
  readonly method: string;
  readonly asset: Address;
  /** The signed amount, atomic units. */
  readonly amount: bigint;
  /** Whether anything was paid at all. */
  readonly isWorthless: boolean;
  readonly claimedAt: Date;
  readonly paidAt: Date;
}

/** What became of a claim, as far as the history knows: nothing yet, nothing ever, or a payment. */
export type ClaimOutcome = 'waiting' | 'over' | Paid;

/** A payment, and what was declared with it. */
export interface CatalogueUpdate {
  readonly paid: Paid;
  readonly declared: Declared;
}

/** The result of catalogue updates. */
export interface UpdateResult {
  readonly listed: number;
  readonly refused: number;
}

/**
 * Writes the catalogue. Every update may be repeated.
 *
 * @throws ArchiveError from every method.
 */
export interface CatalogueWriter {
  /** @returns those the history knows. */
  outcomes(chainId: number, ids: readonly string[]): Promise<ReadonlyMap<string, ClaimOutcome>>;

  update(updates: readonly CatalogueUpdate[]): Promise<UpdateResult>;

  /** Drops what was not paid for since. */
  forget(before: Date): Promise<void>;
}

/** An offer that was paid. */
export interface CatalogueOffer {
  readonly scheme: string;
  readonly asset: Address;
  readonly amount: string;
  readonly offer: ListedOffer;
}

export interface CatalogueEntry {
  readonly chainId: number;
  readonly payTo: Address;
  readonly listing: Listing;
  /** Newest first; never empty. */
  readonly offers: readonly CatalogueOffer[];
  readonly firstPaidAt: Date;
  readonly lastPaidAt: Date;
  /** Others that were paid for the same place, of whom one at most sells there. */
  readonly otherPayees: number;
  /** `undefined` until it was rated. */
  readonly quality: Quality | undefined;
  readonly position: EntryPosition;
}

/** A position in the list, from which the next page goes on. */
export interface EntryPosition {
  /** In thousandths. */
  readonly score: number;
  readonly paidAt: number;
  readonly id: string;
}

/** Which entries are asked for. */
export interface CatalogueFilter {
  readonly type?: ListingType | undefined;
  readonly payTo?: Address | undefined;
  readonly chainId?: number | undefined;
  readonly scheme?: string | undefined;
  readonly asset?: Address | undefined;
  /** Atomic units. */
  readonly maxAmount?: bigint | undefined;
  readonly x402Version?: 1 | undefined;
  /** Entries that were not paid for since are not shown. */
  readonly since: Date;
}

/** Where a page begins: after so many, or after an entry. */
export type PageStart = { readonly offset: number } | { readonly after: EntryPosition };

export interface FoundEntries {
  readonly entries: readonly CatalogueEntry[];
  /** Whether words that are not spelled alike were looked for too. */
  readonly method: 'text' | 'text+trigram';
}

/** The state of a listing, shown or not. */
export interface ListingState {
  readonly chainId: number;
  readonly payTo: Address;
  readonly resource: string;
  readonly call: string | undefined;
  readonly code: 'listed' | 'expired' | RefusalCode;
  readonly path: string | undefined;
  /** When it was paid last, or refused. */
  readonly at: Date;
}

/** {@link CatalogueReader}; missing where there is no catalogue. */
export const CatalogueReader = Symbol('CatalogueReader');

/** @throws ArchiveError from every method. */
export interface CatalogueReader {
  /** Those of the highest score come first, and of equal ones those paid last. */
  page(filter: CatalogueFilter, start: PageStart, most: number): Promise<readonly CatalogueEntry[]>;

  /** Up to a thousand; more are not counted. */
  count(filter: CatalogueFilter): Promise<number>;

  /** Those that fit best come first. `unreadable`: the text has no words, or more signs than can be read. */
  search(
    filter: CatalogueFilter,
    text: string,
    start: { readonly offset: number },
    most: number,
  ): Promise<FoundEntries | 'unreadable'>;

  /** The states of a resource, by its URL or by a URL template that matches it. */
  listingStates(
    place: { readonly resource: string; readonly payTo?: Address | undefined },
    since: Date,
  ): Promise<readonly ListingState[]>;
}
