import type { RecordedSettlement } from '../model/recorded-settlement.js';
import type { LedgerAt } from './ledger-scripts.js';

/** A finished settlement that the ledger still holds, and that nothing has changed for a while. */
export interface CooledSettlement {
  readonly id: string;
  /** Of all that was read: what has changed since has another one. */
  readonly digest: string;
  /** `undefined` where this version cannot read it. */
  readonly settlement: RecordedSettlement | undefined;
}

export type CooledRead =
  /** Too much waits to be archived: nothing leaves before that is done. */
  | { readonly kind: 'behind' }
  | { readonly kind: 'read'; readonly cooled: readonly CooledSettlement[] };

/**
 * - `leaves`: the archive has all of it, and answers for it from here on.
 * - `stays`: it is needed here, until something changes it.
 * - `later`: to be looked at again after the same time.
 */
export type EvictionDecision = 'leaves' | 'stays' | 'later';

export interface Parting {
  readonly id: string;
  readonly digest: string;
  readonly verdict: EvictionDecision;
}

/**
 * Finished settlements of a ledger with a history, and how they leave it.
 *
 * @throws RedisUnavailableError, LedgerEpochChangedError from every method: nothing was removed from a
 *   ledger of another epoch.
 */
export interface CooledSettlements {
  /** The oldest of those that nothing has changed for so long, and of which nothing waits to be archived. */
  read(at: LedgerAt, unchangedMs: number, most: number): Promise<CooledRead>;

  /**
   * Removes those that leave, each only if it still is what was read, and if no other claim of its
   * authorization would be taken for it. May be repeated.
   *
   * @returns how many were removed.
   */
  part(at: LedgerAt, partings: readonly Parting[]): Promise<number>;
}
