import { type Address, decodeAbiParameters, type Hex } from 'viem';
import type { Permit2Authorization } from '../../evm/authorization.js';
import { SETTLE, SETTLE_WITH_PERMIT, settlementCall } from '../../evm/calls.js';
import type { Permit2Claim } from '../../payment/payment.js';
import { isUint256 } from '../../payment/wire-values.js';
import { PERMIT2_METHOD } from '../methods/permit2.js';
import { approvalBefore, permit2Allowance, permit2InFlightKind } from '../permit2/approving.js';
import { decodePermit2 } from '../permit2/decode.js';
import { diagnosePermit2 } from '../permit2/diagnose.js';
import { mayHideUse } from '../permit2/hidden-use.js';
import { verifyWitness } from '../permit2/verify-witness.js';
import { reasonOfRevert } from '../revert-reason.js';
import type { Action } from '../scheme.js';
import { transferIn } from '../transfer-evidence.js';
import { EXPLANATIONS } from './explain-permit2.js';
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
const SPONSORED_PERMIT_WORDS = 5;

/** A payment by Permit2 through the x402 exact proxy, V2 only. */
export const EXACT_PERMIT2: Action<Permit2Claim, Permit2Authorization> = {
  method: PERMIT2_METHOD,
  reasons: {
    used: 'permit2_invalid_nonce',
    expired: 'permit2_deadline_expired',
    insufficientBalance: 'permit2_insufficient_balance',
    insufficientAllowance: 'permit2_allowance_required',
    simulationFailed: 'permit2_simulation_failed',
    transactionFailed: 'invalid_exact_evm_transaction_failed',
    noEvidence: 'invalid_exact_evm_transfer_event_mismatch',
  },
  isRepeatable: false,

  signedPartsOf: (claim, { chainId, asset }) => {
    if (!isUint256(claim.nonce)) return undefined;
    const { from, token, amount, spender, nonce, deadline, witnessTo, witnessValidAfter } = claim;
    return {
      key: PERMIT2_METHOD.keyOf(chainId, asset, from, nonce),
      terms: [token, amount, spender, deadline, witnessTo, witnessValidAfter],
      domain: [],
    };
  },
  verify: (...asked) => verifyWitness(EXACT_WITNESS, ...asked),
  termsMismatch: (payment, claim, chain) => termsMismatchOfPermit2(payment, claim, chain),
  explain: (reason, payment, claim, facts) => EXPLANATIONS[reason]?.(payment, claim, facts),
  mayHideUse,
  soleSenderOf: () => undefined,
  settlesLess: false,
  needsNoTransaction: () => false,

  termsOf: ({ token, amount, spender, deadline, witnessTo, witnessValidAfter }) => {
    return [token, amount, spender, deadline, witnessTo, witnessValidAfter];
  },
  nonceOf: ({ nonce }) => nonce,
  deadlineOf: ({ deadline }) => deadline,
  // Permit2 wants a block time that is not above `deadline`.
  isExpiredAt: ({ deadline }, blockTime) => deadline < blockTime,
  decode: decodePermit2,

  inFlightKindOf: permit2InFlightKind,
  allowanceCall: permit2Allowance,

  preparationOf: approvalBefore,
  callOf: (authorization, { asset }) => settlementCall(authorization, asset),
  transferOf: ({ from }, { asset, payTo, amount }) => ({ asset, payer: from, payTo, amount }),
  gasCapOf: (_, usual) => usual,
  mayShare: () => true,
  gasProfileOf: ({ sponsoredPermit }) =>
    sponsoredPermit === undefined ? 'permit2' : 'permit2 sponsored',
  diagnose: (chain, terms, { from, spender }, failed) =>
    diagnosePermit2(chain, terms, { payer: from, proxy: spender }, failed),
  diagnosesUse: false,
  reasonOfRevert: (data) => reasonOfRevert(data, PERMIT2_METHOD.name),

  isNamedByEvidence: false,
  evidenceIn: (transfer, _, logs, taken) => transferIn(transfer, logs, taken),
  isDoneByAnybody: false,
  selectors: [SETTLE, SETTLE_WITH_PERMIT],
  presentedIn: (target, callData, { permit2Proxy }) => {
    if (target !== permit2Proxy) return undefined;
    const isSponsored = callData.slice(2, 10) === SETTLE_WITH_PERMIT;
    const skipped = isSponsored ? SPONSORED_PERMIT_WORDS * 64 : 0;
    const words: Hex = `0x${callData.slice(10 + skipped)}`;
    const [token, amount, nonce, , owner, to] = decodeAbiParameters(SETTLE_WORDS, words);
    return {
      method: PERMIT2_METHOD.name,
      token: token.toLowerCase() as Address,
      from: owner.toLowerCase() as Address,
      to: to.toLowerCase() as Address,
      amount,
      nonce,
    };
  },
};
