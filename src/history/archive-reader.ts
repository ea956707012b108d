import type { ArchivedSettlement, ArchiveQuery } from '../settlement/ledger/settlement-archive.js';

/** Reads what was archived. */
export interface ArchiveReader {
  /**
   * Those that were sold first, then paid ones, then the newest; by time the newest first.
   *
   * @throws ArchiveError
   */
  find(query: ArchiveQuery): Promise<readonly ArchivedSettlement[]>;
}
