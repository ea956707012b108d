import type { Reason } from '../../reasons.js';
import type { HiddenUse } from '../scheme.js';

/**
 * Whether a refusal of a payment by EIP-3009 may be that of one which the chain has executed: the checks
 * that come before that of its nonce look at things that its own execution, or the time since, has changed.
 */
export function mayHideUse(reason: Reason): HiddenUse {
  if (reason === 'invalid_exact_evm_payload_authorization_valid_before') return 'yes';
  // Code of the payer may have come after the payment.
  return reason === 'invalid_exact_evm_signature' ? 'if_payer_has_code' : 'no';
}
