import type { PaidItem } from '../../ledger/lane-store.js';
import type { Inclusion, TrackedAttempt } from '../state/tracked-attempt.js';

export interface InclusionChanges {
  /** The block does not pay them, or is not part of the chain any more. */
  readonly uninclude: readonly string[];
  readonly include: readonly PaidItem[];
}

/**
 * The writes after which the ledger shows of every settlement of an attempt what the chain shows.
 * They depend on these two states alone: after a takeover, or when a block was replaced by another, the result is the
 * same.
 *
 * @param inclusion - where the attempt is mined now; `undefined` when no block has it.
 */
export function inclusionChanges(
  { payments, stored }: Pick<TrackedAttempt, 'payments' | 'stored'>,
  inclusion: Inclusion | undefined,
): InclusionChanges {
  const uninclude: string[] = [];
  const include: PaidItem[] = [];
  for (const id of payments.keys()) {
    const known = stored.get(id);
    if (inclusion?.credited.has(id) !== true) {
      if (known !== undefined) uninclude.push(id);
      continue;
    }
    const logIndex = inclusion.credited.get(id);
    const isKnown =
      known?.transaction === inclusion.transaction &&
      known.blockHash === inclusion.blockHash &&
      known.logIndex === logIndex;
    if (!isKnown) include.push({ id, logIndex });
  }
  return { uninclude, include };
}
