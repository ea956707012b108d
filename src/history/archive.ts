import { FacilitatorError } from '../protocol/errors.js';
import type { LedgerAt } from '../settlement/ledger/ledger-scripts.js';
import type { Change } from '../settlement/ledger/outbox.js';

/** Why the archive cannot store anything now. */
export type ArchiveCondition = 'database_unreachable' | 'schema_outdated' | 'database_failed';

/** The code of PostgreSQL for a statement that took too long (`query_canceled`). */
export const QUERY_CANCELLED = '57014';

/** The database did not answer, or not in time: a commit may have happened. */
export class ArchiveError extends FacilitatorError {
  readonly code = 'archive_unavailable';

  /** @param sqlState - the code of the database or of the connection. Their texts may hold secrets. */
  constructor(
    readonly condition: ArchiveCondition,
    readonly sqlState: string | undefined,
    cause?: unknown,
  ) {
    super(`PostgreSQL is unavailable to the archive: ${condition} ${sqlState ?? ''}`.trim(), {
      cause,
    });
    this.name = 'ArchiveError';
  }
}

type Refusal = (cause: ArchiveError) => Error;

/**
 * An unavailable archive is an error: it must not look like an unknown settlement. Other errors pass through.
 *
 * @param tooSlow - for operators, who may run wide queries: a time-out has an answer of its own.
 */
export async function archiveAnswer<T>(
  answer: Promise<T>,
  unavailable: Refusal,
  tooSlow = unavailable,
): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    if (!(error instanceof ArchiveError)) throw error;
    throw error.sqlState === QUERY_CANCELLED ? tooSlow(error) : unavailable(error);
  }
}

/** The results of the changes that were stored. */
export interface Stored {
  readonly written: number;
  /** Changes that were skipped because the archive has a later version of the settlement. */
  readonly stale: number;
  /** Changes of a month that is no longer stored. */
  readonly expired: number;
  readonly unreadable: number;
}

/**
 * The newest known versions of settlements, for as long as the operator keeps them. Each write is atomic and
 * idempotent.
 *
 * @throws ArchiveError from every method.
 */
export interface Archive {
  /** Creates or checks the tables. */
  open(): Promise<void>;

  /**
   * The number of an epoch; later epochs have higher numbers. Callers must request it before they read data of the
   * epoch: then a later epoch cannot already have a number.
   */
  epochNumber(at: Pick<LedgerAt, 'chainId' | 'epoch'>): Promise<number>;

  /** Writes each settlement, unless the archive has a later version. A settlement may occur once in `changes`. */
  store(chainId: number, epoch: number, changes: readonly Change[]): Promise<Stored>;

  /** Creates the partitions of the next months, and drops the expired ones. */
  upkeep(now: number): Promise<void>;
}
