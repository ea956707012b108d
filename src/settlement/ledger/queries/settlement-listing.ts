import type { Address } from 'viem';
import type { SettlementStatus } from './settlement-status.js';

/** Some of the settlements of a seller, newest first. */
export interface SettlementPage {
  readonly settlements: readonly SettlementStatus[];
  /** Where the next page begins; absent on the last one. */
  readonly nextCursor?: string;
}

/** What a list may be asked for, as it came; the values are not checked yet. */
export interface ListQuery {
  readonly payTo?: unknown;
  readonly from?: unknown;
  readonly to?: unknown;
  readonly state?: unknown;
  readonly asset?: unknown;
  readonly network?: unknown;
  readonly limit?: unknown;
  readonly cursor?: unknown;
}

/** Lists of settlements: what Redis has no index for, and the history has. */
export interface SettlementListing {
  /**
   * @param payees - whose settlements may be seen, and nobody else's.
   * @throws CodedError where the query is none, or nothing can be listed here or now.
   */
  page(query: ListQuery, payees: ReadonlySet<Address>): Promise<SettlementPage>;
}

/** {@link SettlementListing}; without a history it says so. */
export const SETTLEMENT_LISTING = Symbol('SETTLEMENT_LISTING');
