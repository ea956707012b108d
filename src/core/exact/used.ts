import type { Reason } from '../reasons.js';
import type { Authorization } from './authorization.js';

/** The reason for a refusal because the chain has executed or cancelled the authorization already. */
export function usedReasonOf({ method }: Pick<Authorization, 'method'>): Reason {
  return method === 'eip3009' ? 'invalid_exact_evm_nonce_already_used' : 'permit2_invalid_nonce';
}

export function isUsedReason(reason: Reason): boolean {
  return (
    reason === usedReasonOf({ method: 'eip3009' }) || reason === usedReasonOf({ method: 'permit2' })
  );
}
