import type { ArchiveQuery } from '../settlement/ledger/settlement-archive.js';
import type { ArchiveCondition, Stored } from './archive.js';
import type { LostOutcome } from './lost/lost-outcome.js';

/** The result of one round of archiving. */
export interface Archived extends Stored {
  /** Settlements whose records expired before the archiver read them. */
  readonly gone: number;
}

/** The result of one round of eviction. */
export interface EvictionResult {
  readonly evicted: number;
  /** Settlements that are due for eviction, but differ from their archived rows. */
  readonly unarchived: number;
}

/** The result of a look-up. `skipped`: not sent, because the archive failed a moment before. */
export type LookUpOutcome = 'found' | 'nothing' | 'away' | 'skipped';

/** Receives events of the archiver and of look-ups, for the log and for metrics. */
export interface HistoryObserver {
  opened(): void;
  archived(chainId: number, result: Archived): void;
  /** @param condition - `undefined` for an error that is not caused by the database. */
  failed(condition: ArchiveCondition | undefined, error: unknown): void;
  /** Finished settlements were evicted, or were kept because the archive lacks them. */
  evicted(chainId: number, result: EvictionResult): void;
  /** The chain was searched for a settlement that the ledger has lost. */
  resolvedLost(chainId: number, outcome: LostOutcome): void;
  /** Each look-up is one query of the database, except skipped ones. */
  lookedUp(by: ArchiveQuery['by'], outcome: LookUpOutcome): void;
}

/** The observer that counts. */
export const HistoryObserver = Symbol('HistoryObserver');
/** The observer that logs, and passes events on to the one that counts. */
export const LOGGED_HISTORY = Symbol('LOGGED_HISTORY');
