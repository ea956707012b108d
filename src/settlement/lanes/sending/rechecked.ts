import type { Reason } from '../../../protocol/reasons.js';
import type { Sendable } from '../../model/grouping.js';

/** Settlements that go into one transaction, with the gas limit it was simulated with. */
export interface SendGroup<T extends Sendable = Sendable> {
  readonly items: readonly T[];
  readonly gas: bigint;
}

interface Refused<T extends Sendable> {
  readonly item: T;
  readonly reason: Reason;
}

/** The results of settlements that were simulated once more. */
export interface Rechecked<T extends Sendable> {
  readonly groups: readonly SendGroup<T>[];
  readonly refusals: readonly Refused<T>[];
  /** The chain could not be asked about them. */
  readonly undecided: readonly T[];
  /** A block in which none of the authorizations was used yet. */
  readonly blockNumber: bigint;
}
