import type { ArchiveTrouble, Stored } from './archive.js';

/** What came of one round of archiving. */
export interface Archived extends Stored {
  /** Settlements that had ended their life before they were read. */
  readonly gone: number;
}

/** Told of the work of the archiver; for the log and for metrics. */
export interface HistoryObserver {
  opened(): void;
  archived(chainId: number, result: Archived): void;
  /** @param trouble - `undefined` for what is no trouble of the database. */
  failed(trouble: ArchiveTrouble | undefined, error: unknown): void;
}

export const HistoryObserver = Symbol('HistoryObserver');
