import { type Address, decodeAbiParameters } from 'viem';
import { asPermit2Authorization, type Permit2Authorization } from '../../evm/authorization.js';
import { SETTLE, SETTLE_WITH_PERMIT, settlementCall } from '../../evm/calls.js';
import type { ChainReader } from '../../evm/chain-reader.js';
import { permit2Digest } from '../../evm/typed-data.js';
import type { Payment, Permit2Claim } from '../../payment/payment.js';
import type { Reason } from '../../reasons.js';
import { type Explanations, wrongNetwork, wrongScheme } from '../explain-frame.js';
import {
  PERMIT2_ANSWERS,
  PERMIT2_REASONS,
  permit2SignedParts,
  permit2Words,
  presentedByPermit2,
} from '../permit2/answers.js';
import { decodePermit2 } from '../permit2/decode.js';
import { PERMIT2_EXPLANATIONS } from '../permit2/explain.js';
import {
  isTooEarly,
  isTooLate,
  verifyWitness,
  type WitnessRules,
} from '../permit2/verify-witness.js';
import type { Action } from '../scheme.js';

/** Words: token, amount, nonce, deadline, owner, witness.to, witness.validAfter. */
const SETTLE_WORDS = [
  { type: 'address' },
  { type: 'uint256' },
  { type: 'uint256' },
  { type: 'uint256' },
  { type: 'address' },
  { type: 'address' },
  { type: 'uint256' },
] as const;

/** A payment by Permit2 through the x402 exact proxy, V2 only. */
export const EXACT_PERMIT2: Action<Permit2Claim, Permit2Authorization> = {
  ...PERMIT2_ANSWERS,
  reasons: {
    ...PERMIT2_REASONS,
    transactionFailed: 'invalid_exact_evm_transaction_failed',
    noEvidence: 'invalid_exact_evm_transfer_event_mismatch',
  },

  signedPartsOf: (claim, requirements) => permit2SignedParts(claim, requirements, termsOf(claim)),
  verify: (...asked) => verifyWitness(EXACT_WITNESS, ...asked),
  termsMismatch: (payment, claim, chain) => termsMismatchOfPermit2(payment, claim, chain),
  explain: (reason, payment, claim, facts) => EXPLANATIONS[reason]?.(payment, claim, facts),

  termsOf,
  decode: decodePermit2,

  callOf: (authorization, { asset }) => settlementCall(authorization, asset),
  mayShare: () => true,
  gasProfileOf: ({ sponsoredPermit }) =>
    sponsoredPermit === undefined ? 'permit2' : 'permit2 sponsored',

  selectors: [SETTLE, SETTLE_WITH_PERMIT],
  presentedIn: (target, callData, { permit2Proxy }) => {
    if (target !== permit2Proxy) return undefined;
    const words = permit2Words(callData, SETTLE_WITH_PERMIT);
    const [token, amount, nonce, , from, to] = decodeAbiParameters(SETTLE_WORDS, words);
    return presentedByPermit2({ token, from, to, amount, nonce });
  },
};

type Signed = Pick<
  Permit2Authorization,
  'token' | 'amount' | 'spender' | 'deadline' | 'witnessTo' | 'witnessValidAfter'
>;

function termsOf(signed: Signed): (Address | bigint)[] {
  const { token, amount, spender, deadline, witnessTo, witnessValidAfter } = signed;
  return [token, amount, spender, deadline, witnessTo, witnessValidAfter];
}

/** The place of the fault in a Permit2 payment, for each reason of its checks. */
export const EXPLANATIONS: Explanations<Permit2Claim> = {
  ...PERMIT2_EXPLANATIONS,
  unsupported_payload_type: wrongScheme('exact'),
  invalid_exact_evm_network_mismatch: wrongNetwork,
};

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
 * The first failed check of those that need neither chain nor signature.
 *
 * @param now - Unix seconds; absent if time no longer matters.
 */
function termsMismatchOfPermit2(
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
