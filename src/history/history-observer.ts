import type { ArchiveQuery } from '../settlement/ledger/settlement-archive.js';
import type { ArchiveCondition, Stored } from './archive.js';
import type { LostOutcome } from './lost/lost-outcome.js';

/** The result of one round of archiving. */
export interface Archived extends Stored {
  /** Settlements that had ended their life before they were read. */
  readonly gone: number;
}

/** The result of one round of eviction. */
export interface Left {
  readonly left: number;
  /** Their time has come, and the archive does not have them as they are. */
  readonly unarchived: number;
}

/** The result of a look-up; `skipped`: not sent, as the archive did not answer a moment ago. */
export type LookUpOutcome = 'found' | 'nothing' | 'away' | 'skipped';

/** Told of the work of the archiver, and of look-ups; for the log and for metrics. */
export interface HistoryObserver {
  opened(): void;
  archived(chainId: number, result: Archived): void;
  /** @param trouble - `undefined` for what is no trouble of the database. */
  failed(trouble: ArchiveCondition | undefined, error: unknown): void;
  /** Finished settlements have left the ledger, or could have if the archive had all of them. */
  left(chainId: number, result: Left): void;
  /** A settlement that the ledger has lost was looked for on the chain. */
  resolvedLost(chainId: number, outcome: LostOutcome): void;
  /** Each look-up is one query of the database, but those that were skipped. */
  lookedUp(by: ArchiveQuery['by'], outcome: LookUpOutcome): void;
}

/** It counts. */
export const HistoryObserver = Symbol('HistoryObserver');
/** It logs, and tells the one that counts. */
export const LOGGED_HISTORY = Symbol('LOGGED_HISTORY');
