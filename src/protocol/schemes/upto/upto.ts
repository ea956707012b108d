import { type Address, decodeAbiParameters, getAddress } from 'viem';
import type { UptoAuthorization } from '../../evm/authorization.js';
import { UPTO_SETTLE, UPTO_SETTLE_WITH_PERMIT, uptoSettlementCall } from '../../evm/upto-calls.js';
import type { UptoClaim } from '../../payment/payment.js';
import {
  PERMIT2_ANSWERS,
  PERMIT2_REASONS,
  permit2SignedParts,
  permit2Words,
  presentedByPermit2,
} from '../permit2/answers.js';
import { decodePermit2 } from '../permit2/decode.js';
import type { Action, Scheme } from '../scheme.js';
import { UPTO_EXPLANATIONS } from './explain.js';
import { payerAsSent, readUptoAmount, readUptoClaim, whyUnreadable } from './read-claim.js';
import { termsMismatchOfUpto, verifyUpto } from './verify-upto.js';

/** token, maximum, nonce, deadline, amount, owner, witness.to, witness.facilitator, witness.validAfter */
const SETTLE_WORDS = [
  { type: 'address' },
  { type: 'uint256' },
  { type: 'uint256' },
  { type: 'uint256' },
  { type: 'uint256' },
  { type: 'address' },
  { type: 'address' },
  { type: 'address' },
  { type: 'uint256' },
] as const;

/** A payment of at most what was signed, by Permit2 through the x402 upto proxy. */
const UPTO_PERMIT2: Action<UptoClaim, UptoAuthorization> = {
  ...PERMIT2_ANSWERS,
  reasons: {
    ...PERMIT2_REASONS,
    transactionFailed: 'invalid_upto_evm_transaction_failed',
    noEvidence: 'invalid_upto_evm_transfer_event_mismatch',
  },

  signedPartsOf: (claim, requirements) => permit2SignedParts(claim, requirements, termsOf(claim)),
  verify: verifyUpto,
  termsMismatch: termsMismatchOfUpto,
  explain: (reason, payment, claim, facts) => UPTO_EXPLANATIONS[reason]?.(payment, claim, facts),
  soleSenderOf: ({ facilitator }) => facilitator,
  settlesLess: true,
  needsNoTransaction: (amount) => amount === 0n,

  termsOf,
  decode: (stored) => decodePermit2(stored) as UptoAuthorization,

  callOf: (authorization, { amount }) => uptoSettlementCall(authorization, amount),
  // Its sender has to be the facilitator itself.
  mayShare: () => false,
  gasProfileOf: ({ sponsoredPermit }) =>
    sponsoredPermit === undefined ? 'upto' : 'upto sponsored',

  selectors: [UPTO_SETTLE, UPTO_SETTLE_WITH_PERMIT],
  presentedIn: (target, callData, { uptoProxy }) => {
    if (target !== uptoProxy) return undefined;
    const words = permit2Words(callData, UPTO_SETTLE_WITH_PERMIT);
    const [token, , nonce, , amount, from, to] = decodeAbiParameters(SETTLE_WORDS, words);
    return presentedByPermit2({ token, from, to, amount, nonce });
  },
};

type Signed = Pick<
  UptoAuthorization,
  'token' | 'amount' | 'spender' | 'deadline' | 'witnessTo' | 'facilitator' | 'witnessValidAfter'
>;

function termsOf(signed: Signed): (Address | bigint)[] {
  const { token, amount, spender, deadline, witnessTo, facilitator, witnessValidAfter } = signed;
  return [token, amount, spender, deadline, witnessTo, facilitator, witnessValidAfter];
}

/** The x402 scheme `upto`: the buyer signs a ceiling, the seller settles what was used. */
export const UPTO: Scheme = {
  name: 'upto',
  versions: [2],
  extensions: ['eip2612GasSponsoring'],
  sponsoredExtensions: ['erc20ApprovalGasSponsoring'],
  actions: [UPTO_PERMIT2],
  contracts: ['permit2', 'uptoProxy'],
  readClaim: readUptoClaim,
  unreadable: whyUnreadable,
  readAmount: readUptoAmount,
  payerAsSent,
  kindExtra: ([facilitator]) => facilitator && { facilitatorAddress: getAddress(facilitator) },
};
