import type { Hex } from 'viem';
import type { SettlementRow } from '../settlement-row.js';

/** States in which a settlement has not ended. */
export const UNFINISHED = ['queued', 'broadcast', 'included'] as const;

/** Which settlements are looked at. */
export interface Overdue {
  /** Unix seconds: no later deadline. */
  readonly deadline: number;
  /** Milliseconds by the clock of Redis: nothing that the ledger wrote later. */
  readonly writtenMs: number;
}

/** The version that orders two states of one settlement; see `SettlementRow`. */
export type RowVersion = Pick<SettlementRow, 'epoch' | 'version_ms' | 'version_sequence'>;

/**
 * Settlements of the archive that have not ended, though nothing can be sent for them any more.
 *
 * @throws ArchiveError from every method.
 */
export interface UnfinishedSettlements {
  /**
   * Those with the earliest deadlines that are not put off. Each is put off with it, longer every
   * time: two processes do not look at one at the same time, and one without a result delays no
   * other.
   */
  take(chainId: number, overdue: Overdue, most: number): Promise<readonly SettlementRow[]>;

  /**
   * Writes how one ended, if the archive has it as it was read.
   *
   * @param ended - the same row, ended, as of a later version.
   * @returns whether it was written: the ledger may have said something since, and has the word then; and
   *   a log pays for one settlement alone.
   */
  end(was: SettlementRow, ended: SettlementRow): Promise<boolean>;

  /** The newest transactions of a chain that are known to be ours. */
  ownTransactions(chainId: number, most: number): Promise<readonly Hex[]>;
}

/**
 * The version of an end that the ledger did not write. It is later than what the archive has, and earlier
 * than whatever the ledger of this epoch may say yet: of a ledger that was lost that is the beginning of the
 * one after it.
 *
 * @param epoch - number of the ledger that does not know the settlement.
 * @returns `undefined` where a later ledger has spoken already.
 */
export function versionAfter(was: RowVersion, epoch: number): RowVersion | undefined {
  const { version_ms, version_sequence } = was;
  if (epoch < was.epoch) return undefined;
  if (epoch > was.epoch) return { epoch, version_ms: 0, version_sequence: 0 };
  return { epoch, version_ms, version_sequence: version_sequence + 1 };
}
