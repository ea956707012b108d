import type { RecordedSettlement } from '../model/recorded-settlement.js';
import type { LedgerAt } from './ledger-scripts.js';

/** The order of changes within one epoch: the id of a stream entry. */
export interface ChangeVersion {
  readonly ms: number;
  readonly sequence: number;
}

/** A settlement when it was read. It contains every entry of the settlement up to `version`. */
export type Change =
  | {
      readonly kind: 'recorded';
      readonly id: string;
      readonly version: ChangeVersion;
      readonly settlement: RecordedSettlement;
    }
  /** A record that this version cannot read is passed on unchanged. */
  | {
      readonly kind: 'unreadable';
      readonly id: string;
      readonly version: ChangeVersion;
      readonly text: string;
    };

/** A change, and the newest of the read entries that named it. An archive up to that entry contains the change. */
export type NotedChange = Change & { readonly noted: ChangeVersion };

export type OutboxRead =
  /** Another process archives this chain. */
  | { readonly kind: 'held' }
  | {
      readonly kind: 'read';
      /** The last entry that was read; `undefined` without entries. */
      readonly last: string | undefined;
      readonly changes: readonly NotedChange[];
      /** Settlements whose record expired before they were read. */
      readonly gone: number;
    };

/** The archiving process, and the duration of its lease. */
export interface ArchiverLease {
  readonly processId: string;
  readonly leaseMs: number;
}

/** The entries that wait for the archiver. */
export interface Backlog {
  readonly entries: number;
  /** Milliseconds since the oldest entry, by the clock of Redis; 0 without entries. */
  readonly oldestMs: number;
}

/**
 * Changes in the ledger of a chain that are not archived yet. Each script of the ledger notes its change in the same
 * step.
 *
 * @throws RedisUnavailableError from every method.
 */
export interface Outbox {
  /** The present ledger. Reads with it belong to its epoch. */
  now(chainId: number): Promise<LedgerAt>;

  /**
   * The oldest changes. Takes or renews the lease of the archiver.
   *
   * @throws LedgerEpochChangedError if the ledger is of another epoch.
   */
  read(at: LedgerAt, lease: ArchiverLease, most: number): Promise<OutboxRead>;

  /**
   * Deletes entries up to this one, which are archived.
   *
   * @throws LedgerEpochChangedError if the ledger is of another epoch: its entries may have equal ids.
   */
  trim(at: LedgerAt, last: string): Promise<void>;

  /** Releases the lease, so that another process takes over at once. */
  release(chainId: number, processId: string): Promise<void>;

  backlog(chainId: number): Promise<Backlog>;
}
