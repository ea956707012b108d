import type { Reason } from '../reasons.js';

/** Reasons of a payment that a later block can accept, in all schemes. */
export const NOT_YET_VALID: ReadonlySet<Reason> = new Set<Reason>([
  'invalid_exact_evm_payload_authorization_valid_after',
  'permit2_payment_too_early',
  'permit2_not_yet_valid',
  'invalid_batch_settlement_evm_payload_authorization_valid_after',
]);

/** Reasons of a signature that is not by the payer, in all schemes. */
export const INVALID_SIGNATURE: ReadonlySet<Reason> = new Set<Reason>([
  'invalid_exact_evm_signature',
  'invalid_permit2_signature',
]);
