import type { Reason } from '../reasons.js';

/** A payment for which the newest block is too old: the checks, the tokens and the proxies of all schemes. */
export const NOT_YET_VALID: ReadonlySet<Reason> = new Set<Reason>([
  'invalid_exact_evm_payload_authorization_valid_after',
  'permit2_payment_too_early',
  'permit2_not_yet_valid',
  'invalid_batch_settlement_evm_payload_authorization_valid_after',
]);

/** A signature that is not the payer's, in any scheme. */
export const INVALID_SIGNATURE: ReadonlySet<Reason> = new Set<Reason>([
  'invalid_exact_evm_signature',
  'invalid_permit2_signature',
]);
