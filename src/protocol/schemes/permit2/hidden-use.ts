import type { Reason } from '../../reasons.js';
import type { HiddenUse } from '../scheme.js';

/** What the execution of a payment, or the time since, may have changed. */
const HIDING_USE: ReadonlySet<Reason> = new Set<Reason>([
  'permit2_deadline_expired',
  'permit2_insufficient_balance',
  'permit2_allowance_required',
  'permit2_simulation_failed',
]);

/** Whether a refusal of a payment by Permit2 may be that of one which the chain has executed. */
export function mayHideUse(reason: Reason): HiddenUse {
  if (HIDING_USE.has(reason)) return 'yes';
  // Code of the payer may have come after the payment.
  return reason === 'invalid_permit2_signature' ? 'if_payer_has_code' : 'no';
}
