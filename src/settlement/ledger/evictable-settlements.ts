import type { RecordedSettlement } from '../model/recorded-settlement.js';
import type { LedgerAt } from './ledger-scripts.js';

/** A finished settlement in the ledger that has not changed for a while. */
export interface EvictableSettlement {
  readonly id: string;
  /** Hash of everything that was read, so that a change is detected. */
  readonly digest: string;
  /** `undefined` if this version cannot read the record. */
  readonly settlement: RecordedSettlement | undefined;
}

export type EvictableRead =
  /** The archive is behind, so nothing may be removed. */
  | { readonly kind: 'behind' }
  | { readonly kind: 'read'; readonly settlements: readonly EvictableSettlement[] };

/**
 * - `leaves`: the archive has everything, and answers for the settlement from now on.
 * - `stays`: the ledger needs it until it changes.
 * - `later`: to be checked again after the same time.
 */
export type EvictionDecision = 'leaves' | 'stays' | 'later';

export interface Eviction {
  readonly id: string;
  readonly digest: string;
  readonly verdict: EvictionDecision;
}

/**
 * Finished settlements of a ledger with a history, and their eviction.
 *
 * @throws RedisUnavailableError, LedgerEpochChangedError from every method: nothing was removed from a ledger of
 *   another epoch.
 */
export interface EvictableSettlements {
  /** The oldest archived settlements without a change for this long. */
  read(at: LedgerAt, unchangedMs: number, most: number): Promise<EvictableRead>;

  /**
   * Removes settlements that are unchanged, if no other claim of their authorization would take their place.
   * Idempotent.
   *
   * @returns the number of removed settlements.
   */
  evict(at: LedgerAt, evictions: readonly Eviction[]): Promise<number>;
}
