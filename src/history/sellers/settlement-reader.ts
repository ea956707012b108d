import type { Address } from 'viem';
import type { Settlement } from '../../settlement/ledger/queries/settlement-queries.js';
import type { SettlementFilter } from './settlement-filter.js';

/** The archive of sellers, on connections for each use: what reads much delays no list. Empty without a history. */
export interface ArchiveReaders {
  readonly lists?: SettlementReader;
  readonly exports?: SettlementReader;
  readonly totals?: SettlementReader;
}

/** {@link ArchiveReaders}. */
export const ARCHIVE_READERS = Symbol('ARCHIVE_READERS');

/** A place in the order of all settlements. */
export interface Position {
  readonly claimedAt: Date;
  readonly id: Buffer;
}

/** A settlement, and its place in the list that it was read for. */
export interface ListedSettlement {
  readonly position: Position;
  readonly settlement: Settlement;
}

/** The groups beside asset and state. */
export interface Grouping {
  readonly byDay: boolean;
  readonly byPayee: boolean;
}

/** The settlements of one group that are in one state. */
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
  /** Atomic units; what was settled where that is less than what was signed. */
  readonly paidAmount: bigint;
}

/**
 * What the archive knows, for those who read it.
 *
 * @throws ArchiveError from every method, also when the archive does not answer in time.
 */
export interface SettlementReader {
  /** Newest first. @param after - what comes after this place; from the newest when absent. */
  page(
    filter: SettlementFilter,
    after: Position | undefined,
    most: number,
  ): Promise<readonly ListedSettlement[]>;

  /** @param id - as the ledger names it: 32 bytes in base64url. */
  byId(id: string): Promise<Settlement | undefined>;

  /** Newest day first, then by network, asset, payee and state. */
  totals(filter: SettlementFilter, grouping: Grouping, most: number): Promise<readonly TotalRow[]>;
}
