import type { Hex } from 'viem';
import type { SettlementRow } from '../settlement-row.js';

/** States in which a settlement has not ended. */
export const UNFINISHED = ['queued', 'broadcast', 'included'] as const;

/** The limits of a query for overdue settlements. */
export interface Overdue {
  /** Unix seconds. Settlements with a later deadline are not selected, unless their block is followed by no ledger. */
  readonly deadline: number;
  /**
   * Number of the present epoch. No ledger follows the block of an included settlement of an earlier epoch, so that
   * settlement is selected before its deadline, too.
   */
  readonly epoch: number;
  /** Milliseconds by the clock of Redis. Settlements that were written later are not selected. */
  readonly writtenMs: number;
}

/** The version that orders two states of one settlement; see `SettlementRow`. */
export type RowVersion = Pick<SettlementRow, 'epoch' | 'version_ms' | 'version_sequence'>;

/**
 * Archived settlements that have not ended, although their deadline has passed or their ledger is lost.
 *
 * @throws ArchiveError from every method.
 */
export interface UnfinishedSettlements {
  /**
   * Takes unfinished settlements with the earliest deadlines that are not postponed. Each take postpones the
   * settlement, longer every time. So two processes do not take one settlement at once, and a settlement without a
   * result does not delay others.
   */
  take(chainId: number, overdue: Overdue, most: number): Promise<readonly SettlementRow[]>;

  /**
   * Replaces the row of a settlement, if it has not changed since it was read.
   *
   * @param now - the new row, with a later version.
   * @returns `false` if the ledger wrote a newer version meanwhile, or if the log pays for another settlement.
   */
  replace(was: SettlementRow, now: SettlementRow): Promise<boolean>;

  /** The newest transactions of a chain that are known to be ours. */
  ownTransactions(chainId: number, most: number): Promise<readonly Hex[]>;
}

/**
 * The version of a row that the ledger did not write. It is later than the archived version, and earlier than any
 * version that the present ledger may still write. For a lost ledger, it is the start of the following epoch.
 *
 * @param epoch - number of the epoch that does not know the settlement.
 * @returns `undefined` if a later epoch has already written the settlement.
 */
export function versionAfter(was: RowVersion, epoch: number): RowVersion | undefined {
  const { version_ms, version_sequence } = was;
  if (epoch < was.epoch) return undefined;
  if (epoch > was.epoch) return { epoch, version_ms: 0, version_sequence: 0 };
  return { epoch, version_ms, version_sequence: version_sequence + 1 };
}
