import { type Address, decodeAbiParameters, type Hex } from 'viem';
import type { Eip3009Authorization } from '../../evm/authorization.js';
import { settlementCall, TRANSFER_WITH_BYTES, TRANSFER_WITH_VRS } from '../../evm/calls.js';
import { innerSignatureOf } from '../../evm/erc6492.js';
import { transferIn } from '../../evm/logs.js';
import type { Eip3009Claim } from '../../payment/payment.js';
import type { Reason } from '../../reasons.js';
import type { Encoded } from '../encoded.js';
import { EIP3009 } from '../methods/eip3009.js';
import { reasonOfRevert } from '../revert-reason.js';
import type { Action, UsePossibility } from '../scheme.js';
import { diagnose } from './diagnose.js';
import { EIP3009_EXPLANATIONS } from './explain-eip3009.js';
import { termsMismatchOfEip3009, verifyEip3009 } from './verify-eip3009.js';
import { DEPLOYMENT_GAS } from './verify-undeployed.js';

/** Words: from, to, value, validAfter, validBefore, nonce. */
const TRANSFER_WORDS = [
  { type: 'address' },
  { type: 'address' },
  { type: 'uint256' },
  { type: 'uint256' },
  { type: 'uint256' },
  { type: 'bytes32' },
] as const;

/** A payment by EIP-3009 `transferWithAuthorization` of the token, V1 and V2. */
export const EXACT_EIP3009: Action<Eip3009Claim, Eip3009Authorization> = {
  method: EIP3009,
  reasons: {
    used: 'invalid_exact_evm_nonce_already_used',
    expired: 'invalid_exact_evm_payload_authorization_valid_before',
    insufficientBalance: 'invalid_exact_evm_insufficient_balance',
    // EIP-3009 needs no approval, so a missing balance is the only cause.
    insufficientAllowance: 'invalid_exact_evm_insufficient_balance',
    simulationFailed: 'invalid_exact_evm_transaction_simulation_failed',
    transactionFailed: 'invalid_exact_evm_transaction_failed',
    noEvidence: 'invalid_exact_evm_transfer_event_mismatch',
  },

  signedPartsOf: (claim, { chainId, asset, tokenName, tokenVersion }) => {
    const { from, to, value, validAfter, validBefore, nonce, signature } = claim;
    if (from === undefined || nonce === undefined) return undefined;
    return {
      key: EIP3009.keyOf(chainId, asset, from, BigInt(nonce)),
      terms: [to, value, validAfter, validBefore],
      domain: [textOrNothing(tokenName), textOrNothing(tokenVersion)],
      ...(signature !== undefined && { signature: innerSignatureOf(signature) }),
    };
  },
  verify: verifyEip3009,
  termsMismatch: (payment, claim) => termsMismatchOfEip3009(payment, claim),
  explain: (reason, payment, claim, facts) => EIP3009_EXPLANATIONS[reason]?.(payment, claim, facts),
  mayMeanUsed,

  termsOf: ({ to, value, validAfter, validBefore }) => [to, value, validAfter, validBefore],
  nonceOf: ({ nonce }) => BigInt(nonce),
  deadlineOf: ({ validBefore }) => validBefore,
  // The token requires a block time below `validBefore`.
  isExpiredAt: ({ validBefore }, blockTime) => validBefore <= blockTime,
  decode: (stored) => {
    const encoded = stored as Encoded<Eip3009Authorization>;
    return {
      ...encoded,
      value: BigInt(encoded.value),
      validAfter: BigInt(encoded.validAfter),
      validBefore: BigInt(encoded.validBefore),
    };
  },

  inFlightKindOf: () => 'e',

  callOf: (authorization, { asset }) => settlementCall(authorization, asset),
  transferOf: ({ from }, { asset, payTo, amount }) => ({ asset, payer: from, payTo, amount }),
  gasCapOf: ({ deployment }, usual) => (deployment === undefined ? usual : usual + DEPLOYMENT_GAS),
  // Code that is deployed in the transaction could burn the gas of other calls.
  mayShare: ({ deployment }) => deployment === undefined,
  chosenContractOf: ({ deployment }) => deployment?.factory,
  ofDeployedPayer: ({ method, from, to, value, validAfter, validBefore, nonce, signature }) => ({
    method,
    from,
    to,
    value,
    validAfter,
    validBefore,
    nonce,
    signature,
  }),
  gasProfileOf: ({ deployment }) =>
    deployment === undefined ? 'eip3009' : `eip3009 by ${deployment.factory}`,
  diagnose,
  diagnosesUse: true,
  reasonOfRevert: (data) => reasonOfRevert(data, EIP3009.name),

  evidence: {
    by: 'logs',
    isNamed: true,
    logOf: (transfer, { method, nonce }, logs, taken) =>
      EIP3009.isExecutedIn(logs, { ...transfer, method, nonce: BigInt(nonce) })
        ? transferIn(transfer, logs, taken)
        : undefined,
  },
  selectors: [TRANSFER_WITH_VRS, TRANSFER_WITH_BYTES],
  presentedIn: (target, callData) => {
    const words: Hex = `0x${callData.slice(10)}`;
    const [from, to, amount, , , nonce] = decodeAbiParameters(TRANSFER_WORDS, words);
    return {
      method: EIP3009.name,
      token: target,
      from: from.toLowerCase() as Address,
      to: to.toLowerCase() as Address,
      amount,
      nonce: BigInt(nonce),
    };
  },
};

/** Only text can be part of an EIP-712 domain, and a conversion of other values may throw. */
function textOrNothing(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/**
 * Whether a refusal by EIP-3009 can be the result of an execution of the payment. Checks before the nonce check read
 * state that the execution, or time, has changed.
 */
function mayMeanUsed(reason: Reason): UsePossibility {
  if (reason === 'invalid_exact_evm_payload_authorization_valid_before') return 'yes';
  // The payer may have deployed code after the payment.
  return reason === 'invalid_exact_evm_signature' ? 'if_payer_has_code' : 'no';
}
