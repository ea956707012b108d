import type { RecordedSettlement } from '../model/recorded-settlement.js';
import type { LedgerAt } from './ledger-scripts.js';

/** Orders what the ledger wrote within one epoch: the id of an entry of the stream. */
export interface ChangeVersion {
  readonly ms: number;
  readonly sequence: number;
}

/** A settlement as it was once every entry up to a version was written. */
export type Change =
  | {
      readonly kind: 'recorded';
      readonly id: string;
      readonly version: ChangeVersion;
      readonly settlement: RecordedSettlement;
    }
  /** A record that this version cannot read is kept as it is. */
  | {
      readonly kind: 'unreadable';
      readonly id: string;
      readonly version: ChangeVersion;
      readonly text: string;
    };

/** A change, and the newest of the entries read that named it. An archive as of that entry includes the change. */
export type NotedChange = Change & { readonly noted: ChangeVersion };

export type OutboxRead =
  /** Another process archives this chain. */
  | { readonly kind: 'held' }
  | {
      readonly kind: 'read';
      /** The last entry that was read; `undefined` when none was. */
      readonly last: string | undefined;
      readonly changes: readonly NotedChange[];
      /** Settlements that were noted by their id alone and have ended their life since. */
      readonly gone: number;
    };

/** The process that archives, and for how long it alone does. */
export interface ArchiverLease {
  readonly processId: string;
  readonly leaseMs: number;
}

/** The entries that wait to be archived. */
export interface Backlog {
  readonly entries: number;
  /** Milliseconds the oldest of them has waited, by the clock of Redis; 0 for none. */
  readonly oldestMs: number;
}

/**
 * Changes in the ledger of a chain that are not archived yet. Each step of the ledger notes its change in the same
 * script; a change that is archived is neither noted again nor kept here.
 *
 * @throws RedisUnavailableError from every method.
 */
export interface Outbox {
  /** The ledger as it is now. All reads at it belong to its epoch. */
  now(chainId: number): Promise<LedgerAt>;

  /**
   * The oldest changes. Takes the lease of the archiver, or renews it.
   *
   * @throws LedgerEpochChangedError when the ledger is of another epoch.
   */
  read(at: LedgerAt, lease: ArchiverLease, most: number): Promise<OutboxRead>;

  /**
   * Forgets what is archived, up to and with this entry.
   *
   * @throws LedgerEpochChangedError when the ledger is of another epoch: its entries may have the same names.
   */
  trim(at: LedgerAt, last: string): Promise<void>;

  /** Gives the archiving up, so that another process takes over at once. */
  release(chainId: number, processId: string): Promise<void>;

  backlog(chainId: number): Promise<Backlog>;
}
