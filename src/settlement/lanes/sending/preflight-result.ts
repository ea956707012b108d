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
export interface PreflightResult<T extends Sendable> {
  readonly groups: readonly SendGroup<T>[];
  readonly refusals: readonly Refused<T>[];
  /** Settlements that could not be simulated: the chain did not answer. */
  readonly undecided: readonly T[];
  /** A block in which none of the authorizations was used yet. */
  readonly blockNumber: bigint;
}
