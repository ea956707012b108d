import { type AcceptedPayment, assetNameOf } from '../../../protocol/payment/accepted-payment.js';
import { blamedFor } from '../../../protocol/payment/payment-facts.js';
import { actionOf } from '../../../protocol/schemes/registry.js';
import type { FailedTransaction, LaneEndings, ParkReason } from '../../ledger/lane-store.js';
import type { AssetSuspensions } from '../ports.js';

export interface FailureCounts {
  readonly endings: Pick<LaneEndings, 'noteRevert'>;
  readonly assetSuspensions: Pick<AssetSuspensions, 'noteWithoutEvidence'>;
}

/**
 * Counts a transaction that did not pay its settlement; called once for each. A transaction that succeeded counts
 * against the asset as well, except where the state of another contract shows the payment.
 *
 * @param blamed - the names that it counts against.
 */
export async function noteFailure(
  { endings, assetSuspensions }: FailureCounts,
  payment: AcceptedPayment,
  isSuccess: boolean,
  blamed = blamedFor(payment),
): Promise<void> {
  if (isSuccess && !isShownByState(payment)) {
    assetSuspensions.noteWithoutEvidence(assetNameOf(payment));
  }
  await endings.noteRevert(payment.chainId, blamed);
}

/**
 * Whether a failed transaction counts from the parking on, because the token may hide the outcome for ever. Any other
 * failure counts when the settlement ends: until then a copy of the transaction may be found to have paid.
 */
export function countsFromParking(
  payment: AcceptedPayment,
  why: ParkReason,
  failed: FailedTransaction | undefined,
): boolean {
  return failed !== undefined && why === 'state_unreadable' && !isShownByState(payment);
}

/** No token has a part in the state that shows the payment. */
export function isShownByState({ authorization }: AcceptedPayment): boolean {
  return actionOf(authorization).evidence.by === 'state';
}
