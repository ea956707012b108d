import { type Address, decodeAbiParameters } from 'viem';
import type { Permit2Authorization } from '../../evm/authorization.js';
import { SETTLE, SETTLE_WITH_PERMIT, settlementCall } from '../../evm/calls.js';
import type { Permit2Claim } from '../../payment/payment.js';
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
import { verifyWitness } from '../permit2/verify-witness.js';
import type { Action } from '../scheme.js';
import { EXACT_WITNESS, termsMismatchOfPermit2 } from './verify-permit2.js';

/** token, amount, nonce, deadline, owner, witness.to, witness.validAfter */
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

/** Where a payment by Permit2 is wrong, for each reason of its checks. */
export const EXPLANATIONS: Explanations<Permit2Claim> = {
  ...PERMIT2_EXPLANATIONS,
  unsupported_payload_type: wrongScheme('exact'),
  invalid_exact_evm_network_mismatch: wrongNetwork,
};
