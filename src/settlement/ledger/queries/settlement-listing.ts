import type { Address } from 'viem';
import type { SettlementState } from '../../model/settlement.js';
import type { SettlementStatus } from './settlement-status.js';

/** Some of the settlements of a seller, newest first. */
export interface SettlementPage {
  readonly settlements: readonly SettlementStatus[];
  /** Where the next page begins; absent on the last one. */
  readonly nextCursor?: string;
}

/** Settlements of a page, where no other number is asked for, and at most. */
export const PAGE = 100;
export const PAGE_MAX = 500;

/** `unclaimed`: paid, and no requester has its success. */
export const SALES = ['sold', 'unclaimed'] as const;
export type SaleFilter = (typeof SALES)[number];

/** The query of a list; each value has been checked for its form. */
export interface ListQuery {
  readonly payTo?: string;
  /** Of the claim: a day, or a time with its zone. */
  readonly from?: string;
  readonly to?: string;
  readonly state?: SettlementState;
  readonly sale?: SaleFilter;
  readonly asset?: string;
  readonly network?: string;
  readonly limit?: number;
  readonly cursor?: string;
}

/** Lists of settlements: what Redis has no index for, and the history has. */
export interface SettlementListing {
  /**
   * @param payees - the only ones whose settlements may be seen.
   * @throws CodedError where the query is malformed, or nothing can be listed here or now.
   */
  page(query: ListQuery, payees: ReadonlySet<Address>): Promise<SettlementPage>;
}

/** {@link SettlementListing}; without a history it says so. */
export const SETTLEMENT_LISTING = Symbol('SETTLEMENT_LISTING');
