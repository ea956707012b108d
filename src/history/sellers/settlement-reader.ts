import type { Address } from 'viem';
import type { Settlement } from '../../settlement/ledger/queries/settlement-queries.js';
import type { SettlementFilter } from './settlement-filter.js';

/**
 * Readers of the archive for sellers, each with its own connections, so that exports do not delay lists. Empty
 * without a database.
 */
export interface ArchiveReaders {
  readonly lists?: SettlementReader;
  readonly exports?: SettlementReader;
  readonly totals?: SettlementReader;
}

/** {@link ArchiveReaders}. */
export const ARCHIVE_READERS = Symbol('ARCHIVE_READERS');

/** A position in the order of all settlements. */
export interface Position {
  readonly claimedAt: Date;
  readonly id: Buffer;
}

/** A settlement and its position in the list. */
export interface ListedSettlement {
  readonly position: Position;
  readonly settlement: Settlement;
}

/** The groups, beside asset and state. */
export interface Grouping {
  readonly byDay: boolean;
  readonly byPayee: boolean;
}

/** The sum of the settlements of one group in one state. */
export interface TotalRow {
  /** `2026-11-30`, in UTC; empty unless grouped by day. */
  readonly day: string;
  readonly chainId: number;
  readonly asset: Address;
  /** `0x` unless grouped by payee. */
  readonly payTo: Address;
  readonly state: string;
  readonly count: bigint;
  readonly paidCount: bigint;
  /** Atomic units: the settled amount, which may be below the signed amount. */
  readonly paidAmount: bigint;
}

/**
 * Queries of the archive.
 *
 * @throws ArchiveError from every method, also on a time-out.
 */
export interface SettlementReader {
  /**
   * Newest first.
   *
   * @param after - the position before the page; absent for the first page.
   */
  page(
    filter: SettlementFilter,
    after: Position | undefined,
    most: number,
  ): Promise<readonly ListedSettlement[]>;

  /** @param id - as in the ledger: 32 bytes in base64url. */
  byId(id: string): Promise<Settlement | undefined>;

  /** Sorted by day (newest first), network, asset, payee and state. */
  totals(filter: SettlementFilter, grouping: Grouping, most: number): Promise<readonly TotalRow[]>;
}
