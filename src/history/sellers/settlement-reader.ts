import type { Settlement } from '../../settlement/ledger/queries/settlement-queries.js';
import type { SettlementFilter } from './settlement-filter.js';

/** A place in the order of all settlements. */
export interface Position {
  readonly claimedAt: Date;
  readonly id: Buffer;
}

export interface ArchivedSettlement {
  readonly position: Position;
  readonly settlement: Settlement;
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
  ): Promise<readonly ArchivedSettlement[]>;

  /** @param id - as the ledger names it: 32 bytes in base64url. */
  byId(id: string): Promise<Settlement | undefined>;
}
