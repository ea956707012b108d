import { PERMIT2 } from '../../evm/contracts.js';
import type { Permit2Claim } from '../../payment/payment.js';
import {
  earliestEnd,
  type Explanations,
  noContractAtAsset,
  tooClose,
  tooEarly,
  tooLate,
  tooPoor,
} from '../explain-frame.js';
import { APPROVAL_EXPLANATIONS } from './explain-approval.js';

const AUTHORIZATION = 'paymentPayload.payload.permit2Authorization';
const SPONSORED = 'paymentPayload.extensions.eip2612GasSponsoring.info';

/** The place of the fault in a Permit2 payment, for each reason of its checks. */
export const PERMIT2_EXPLANATIONS: Explanations<Permit2Claim> = {
  invalid_permit2_spender: (_, { spender }) => ({
    path: `${AUTHORIZATION}.spender`,
    expected: 'the x402 Permit2 proxy of this scheme',
    got: spender,
  }),
  invalid_permit2_recipient_mismatch: ({ requirements }, { witnessTo }) => ({
    path: `${AUTHORIZATION}.witness.to`,
    expected: requirements.payTo,
    got: witnessTo,
  }),
  permit2_deadline_expired: (_, { deadline }, facts) =>
    tooLate(`${AUTHORIZATION}.deadline`, deadline, facts),
  deadline_too_close: (_, { deadline }) => tooClose(`${AUTHORIZATION}.deadline`, deadline),
  permit2_not_yet_valid: (_, { witnessValidAfter }, facts) =>
    tooEarly(`${AUTHORIZATION}.witness.validAfter`, witnessValidAfter, facts),
  permit2_payment_too_early: (_, { witnessValidAfter }, facts) =>
    tooEarly(`${AUTHORIZATION}.witness.validAfter`, witnessValidAfter, facts),
  permit2_amount_mismatch: ({ requirements }, { amount }) => ({
    path: `${AUTHORIZATION}.permitted.amount`,
    expected: `${requirements.amount}, the amount of the requirements`,
    got: amount,
  }),
  // The proxy never requests more than the permitted amount, so only amount 0 is refused.
  permit2_invalid_amount: (_, { amount }) => ({
    path: `${AUTHORIZATION}.permitted.amount`,
    expected: 'an amount above 0',
    got: amount,
  }),
  permit2_token_mismatch: ({ requirements }, { token }) => ({
    path: `${AUTHORIZATION}.permitted.token`,
    expected: requirements.asset,
    got: token,
  }),
  invalid_permit2_signature: ({ requirements }, { from, signature }) => ({
    path: 'paymentPayload.payload.signature',
    expected: `a signature by ${from}`,
    got: signature ?? 'none',
    fix: `Sign in the domain "Permit2", chainId ${requirements.chainId}, verifyingContract ${PERMIT2}, without a version.`,
  }),
  asset_not_deployed_contract: noContractAtAsset,
  permit2_insufficient_balance: (payment, { from }) =>
    tooPoor(payment, `${AUTHORIZATION}.from`, from),
  permit2_allowance_required: ({ requirements }, { from }) => ({
    path: `${AUTHORIZATION}.from`,
    expected: `a payer that approved ${requirements.amount} of ${requirements.asset} to Permit2`,
    got: from,
    fix: `The payer calls approve(${PERMIT2}, amount) of the token once.`,
  }),
  permit2_invalid_nonce: (_, { nonce }) => ({
    path: `${AUTHORIZATION}.nonce`,
    expected: 'a Permit2 nonce the payer has not used',
    got: nonce,
  }),
  permit2_invalid_owner: (_, { from }) => ({
    path: `${AUTHORIZATION}.from`,
    expected: 'the owner that signed',
    got: from,
  }),
  permit2_invalid_destination: ({ requirements }) => ({
    path: 'paymentRequirements.payTo',
    expected: 'an address the proxy pays to',
    got: requirements.payTo,
  }),
  permit2_2612_amount_mismatch: (_, { amount, sponsoredPermit }) => ({
    path: `${SPONSORED}.amount`,
    expected: `${amount}, the permitted amount`,
    got: sponsoredPermit?.amount,
  }),
  invalid_eip2612_extension_format: () => ({
    path: SPONSORED,
    expected:
      'from, asset, spender as addresses; amount, nonce, deadline as decimal text; signature as hexadecimal text; version as text',
  }),
  eip2612_from_mismatch: (_, { from, sponsoredPermit }) => ({
    path: `${SPONSORED}.from`,
    expected: from,
    got: sponsoredPermit?.from,
  }),
  eip2612_asset_mismatch: ({ requirements }, { sponsoredPermit }) => ({
    path: `${SPONSORED}.asset`,
    expected: requirements.asset,
    got: sponsoredPermit?.asset,
  }),
  eip2612_spender_not_permit2: (_, { sponsoredPermit }) => ({
    path: `${SPONSORED}.spender`,
    expected: PERMIT2,
    got: sponsoredPermit?.spender,
  }),
  eip2612_deadline_expired: (_, { sponsoredPermit }, { now }) => ({
    path: `${SPONSORED}.deadline`,
    expected: earliestEnd(now),
    got: sponsoredPermit?.deadline,
  }),
  ...APPROVAL_EXPLANATIONS,
  payer_suspended: (_, { from }) => ({
    path: `${AUTHORIZATION}.from`,
    expected: 'another payer, or a retry some minutes later',
    got: from,
  }),
};
