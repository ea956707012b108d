import { FacilitatorError } from '../protocol/errors.js';
import type { LedgerAt } from '../settlement/ledger/ledger-scripts.js';
import type { Change } from '../settlement/ledger/outbox.js';

/** Why nothing can be archived now. */
export type ArchiveCondition = 'database_unreachable' | 'schema_outdated' | 'database_failed';

/** The code of PostgreSQL for a statement that took too long. */
export const QUERY_CANCELLED = '57014';

/** The database could not be asked, or did not answer in time: a commit may have happened. */
export class ArchiveError extends FacilitatorError {
  readonly code = 'archive_unavailable';

  /** @param sqlState - the code of the database or of the connection, never its text. */
  constructor(
    readonly condition: ArchiveCondition,
    readonly sqlState: string | undefined,
    cause?: unknown,
  ) {
    super(`the archive cannot be used: ${condition} ${sqlState ?? ''}`.trim(), { cause });
    this.name = 'ArchiveError';
  }
}

/** The results of the changes that were stored. */
export interface Stored {
  readonly written: number;
  /** The archive knew the settlement as it was later. */
  readonly stale: number;
  /** Of a month that is not kept any more. */
  readonly expired: number;
  readonly unreadable: number;
}

/**
 * Settlements as the ledger last knew them, for as long as the operator wants. Each write happens
 * as a whole or not at all, and may be repeated any number of times.
 *
 * @throws ArchiveError from every method.
 */
export interface Archive {
  /** Brings the tables up to date, or sees that they are. */
  open(): Promise<void>;

  /**
   * The number of an epoch; a later one has a higher number. It has to be asked for before anything of the
   * epoch is read: then no later epoch can have been met already.
   */
  epochNumber(at: Pick<LedgerAt, 'chainId' | 'epoch'>): Promise<number>;

  /** Writes each settlement unless the archive knows it as it was later. At most one change of each. */
  store(chainId: number, epoch: number, changes: readonly Change[]): Promise<Stored>;

  /** Makes the months ahead, and drops those that are over. */
  upkeep(now: number): Promise<void>;
}
