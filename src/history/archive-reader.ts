import type { ArchivedSettlement, ArchiveQuery } from '../settlement/ledger/settlement-archive.js';

/** Reads archived settlements. */
export interface ArchiveReader {
  /**
   * Sold settlements first, then paid ones, then the newest; a query by time gives the newest first.
   *
   * @throws ArchiveError
   */
  find(query: ArchiveQuery): Promise<readonly ArchivedSettlement[]>;
}
