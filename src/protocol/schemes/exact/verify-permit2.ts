import { asPermit2Authorization, type Permit2Authorization } from '../../evm/authorization.js';
import { settlementCall } from '../../evm/calls.js';
import type { ChainReader } from '../../evm/chain-reader.js';
import { permit2Digest } from '../../evm/typed-data.js';
import type { Payment, Permit2Claim } from '../../payment/payment.js';
import type { Reason } from '../../reasons.js';
import { isTooEarly, isTooLate, type WitnessRules } from '../permit2/verify-witness.js';

/** The exact scheme with Permit2 (V2 only). */
export const EXACT_WITNESS: WitnessRules<Permit2Claim, Permit2Authorization> = {
  mismatch: (payment, claim, { chain }, now) => termsMismatchOfPermit2(payment, claim, chain, now),
  isSenderBound: false,
  proxyOf: ({ permit2Proxy }) => permit2Proxy,
  authorizationOf: asPermit2Authorization,
  digestOf: permit2Digest,
  callOf: (authorization, { asset }) => settlementCall(authorization, asset),
};

/**
 * The first broken one of the checks that need neither the chain nor the signature.
 *
 * @param now - Unix seconds; absent when time does not matter any more.
 */
export function termsMismatchOfPermit2(
  payment: Payment,
  claim: Permit2Claim,
  chain: Pick<ChainReader, 'schemeContracts'>,
  now?: bigint,
): Reason | undefined {
  return wrongFrame(payment) ?? firstBrokenTerm(payment, claim, chain, now);
}

function wrongFrame({ requirements, accepted }: Payment): Reason | undefined {
  if (accepted.scheme !== 'exact') return 'unsupported_payload_type';
  return accepted.network === requirements.networkAsSent
    ? undefined
    : 'invalid_exact_evm_network_mismatch';
}

function firstBrokenTerm(
  { requirements }: Payment,
  claim: Permit2Claim,
  chain: Pick<ChainReader, 'schemeContracts'>,
  now: bigint | undefined,
): Reason | undefined {
  if (claim.spender !== chain.schemeContracts.permit2Proxy) return 'invalid_permit2_spender';
  if (claim.witnessTo !== requirements.payTo) return 'invalid_permit2_recipient_mismatch';
  if (isTooLate(claim, now)) return 'permit2_deadline_expired';
  if (isTooEarly(claim, now)) return 'permit2_not_yet_valid';
  if (claim.amount !== requirements.amount) return 'permit2_amount_mismatch';
  return claim.token === requirements.asset ? undefined : 'permit2_token_mismatch';
}
