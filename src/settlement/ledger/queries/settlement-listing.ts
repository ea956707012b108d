import type { Address } from 'viem';
import type { ChannelAction } from '../../../protocol/schemes/scheme.js';
import type { SettlementState } from '../../model/settlement.js';
import type { SettlementStatus } from './settlement-status.js';

/** A page of the settlements of a seller, newest first. */
export interface SettlementPage {
  readonly settlements: readonly SettlementStatus[];
  /** Cursor of the next page; absent on the last page. */
  readonly nextCursor?: string;
}

/** Default and maximum number of settlements per page. */
export const PAGE = 100;
export const PAGE_MAX = 500;

/** `unclaimed`: paid, and no requester received success. */
export const SALES = ['sold', 'unclaimed'] as const;
export type SaleFilter = (typeof SALES)[number];

/** The query of a list, whose values are checked for their form. */
export interface ListQuery {
  readonly payTo?: string;
  /** Time of the claim: a day, or a time with its zone. */
  readonly from?: string;
  readonly to?: string;
  readonly state?: SettlementState;
  readonly sale?: SaleFilter;
  readonly asset?: string;
  readonly network?: string;
  readonly scheme?: string;
  readonly action?: ChannelAction;
  readonly limit?: number;
  readonly cursor?: string;
}

/** Lists of settlements from the history, because Redis has no index for them. */
export interface SettlementListing {
  /**
   * @param payees - payees whose settlements the caller may see.
   * @throws CodedError for a malformed query, or without an available history.
   */
  page(query: ListQuery, payees: ReadonlySet<Address>): Promise<SettlementPage>;
}

/** Token of {@link SettlementListing}. Without a history, the implementation refuses. */
export const SETTLEMENT_LISTING = Symbol('SETTLEMENT_LISTING');
