import type { Address } from 'viem';
import type { ListedOffer, Listing, ListingType } from '../protocol/listing/listing.js';
import type { RefusalCode } from './codes.js';
import type { Declared } from './declared.js';
import type { Quality } from './quality/quality.js';

/** A payment from the history. */
export interface Paid {
  readonly chainId: number;
  readonly payTo: Address;
  readonly scheme: string;
  readonly method: string;
  readonly asset: Address;
  /** The signed amount, atomic units. */
  readonly amount: bigint;
  /** Whether nothing was paid. */
  readonly isWorthless: boolean;
  readonly claimedAt: Date;
  readonly paidAt: Date;
}

/** The outcome of a claim in the history: not known yet, never a payment, or a payment. */
export type ClaimOutcome = 'waiting' | 'over' | Paid;

/** A payment with its declaration. */
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
  /** @returns the claims that the history has. */
  outcomes(chainId: number, ids: readonly string[]): Promise<ReadonlyMap<string, ClaimOutcome>>;

  update(updates: readonly CatalogueUpdate[]): Promise<UpdateResult>;

  /** Deletes entries without a payment since. */
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
  /** The number of other payees that were paid for the same resource; at most one of them sells it. */
  readonly otherPayees: number;
  /** `undefined` until the first rating. */
  readonly quality: Quality | undefined;
  readonly position: EntryPosition;
}

/** A position in the list, at which the next page begins. */
export interface EntryPosition {
  /** In thousandths. */
  readonly score: number;
  readonly paidAt: number;
  readonly id: string;
}

/** The filter of a query. */
export interface CatalogueFilter {
  readonly type?: ListingType | undefined;
  readonly payTo?: Address | undefined;
  readonly chainId?: number | undefined;
  readonly scheme?: string | undefined;
  readonly asset?: Address | undefined;
  /** Atomic units. */
  readonly maxAmount?: bigint | undefined;
  readonly x402Version?: 1 | undefined;
  /** Entries without a payment since are hidden. */
  readonly since: Date;
}

/** Where a page begins: at an offset, or after an entry. */
export type PageStart = { readonly offset: number } | { readonly after: EntryPosition };

export interface FoundEntries {
  readonly entries: readonly CatalogueEntry[];
  /** Whether words with a similar spelling were searched too. */
  readonly method: 'text' | 'text+trigram';
}

/** The state of a listing, visible or not. */
export interface ListingState {
  readonly chainId: number;
  readonly payTo: Address;
  readonly resource: string;
  readonly call: string | undefined;
  readonly code: 'listed' | 'expired' | RefusalCode;
  readonly path: string | undefined;
  /** The time of the last payment or refusal. */
  readonly at: Date;
}

/** {@link CatalogueReader}; missing without a catalogue. */
export const CatalogueReader = Symbol('CatalogueReader');

/** @throws ArchiveError from every method. */
export interface CatalogueReader {
  /** Highest score first; of equal scores the latest payment first. */
  page(filter: CatalogueFilter, start: PageStart, most: number): Promise<readonly CatalogueEntry[]>;

  /** Counts up to a thousand. */
  count(filter: CatalogueFilter): Promise<number>;

  /** Best match first. `unreadable`: the text has no words, or too many special characters. */
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
