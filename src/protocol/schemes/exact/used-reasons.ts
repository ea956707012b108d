import type { TransferMethod } from '../../evm/transfer-method.js';
import type { Reason } from '../../reasons.js';
import type { HiddenUse } from '../scheme.js';

/** The reason for a refusal because the chain has executed or cancelled the authorization already. */
export function usedReasonOf(method: TransferMethod): Reason {
  return method === 'eip3009' ? 'invalid_exact_evm_nonce_already_used' : 'permit2_invalid_nonce';
}

export function isUsedReason(reason: Reason): boolean {
  return reason === usedReasonOf('eip3009') || reason === usedReasonOf('permit2');
}

/**
 * What a payment that was executed may be refused for instead: the checks that come before that of its
 * nonce look at things that its own execution, or the time since, has changed.
 */
const HIDING_USE: ReadonlySet<Reason> = new Set<Reason>([
  'invalid_exact_evm_payload_authorization_valid_before',
  'permit2_deadline_expired',
  'permit2_insufficient_balance',
  'permit2_allowance_required',
  'permit2_simulation_failed',
]);
/** Only of a payer with code, which may have come after the payment. */
const HIDING_USE_BY_CODE: ReadonlySet<Reason> = new Set<Reason>([
  'invalid_exact_evm_signature',
  'invalid_permit2_signature',
]);

/** Whether a refusal may be that of a payment which the chain has executed. */
export function mayHideUse(reason: Reason): HiddenUse {
  if (HIDING_USE.has(reason)) return 'yes';
  return HIDING_USE_BY_CODE.has(reason) ? 'if_payer_has_code' : 'no';
}
