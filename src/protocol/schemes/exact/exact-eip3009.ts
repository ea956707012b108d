import { type Address, decodeAbiParameters, type Hex } from 'viem';
import { asEip3009Authorization, type Eip3009Authorization } from '../../evm/authorization.js';
import { settlementCall, TRANSFER_WITH_BYTES, TRANSFER_WITH_VRS } from '../../evm/calls.js';
import { innerSignatureOf, unwrapErc6492 } from '../../evm/erc6492.js';
import { transferIn } from '../../evm/logs.js';
import { withNormalizedV } from '../../evm/signature.js';
import { eip3009Digest, rememberTokenDomain, type TokenDomain } from '../../evm/typed-data.js';
import type { Eip3009Claim, Payment } from '../../payment/payment.js';
import type { Reason } from '../../reasons.js';
import { started } from '../../started.js';
import { isSignedByContract, refuseFailed, simulate } from '../checks-on-chain.js';
import type { Encoded } from '../encoded.js';
import { EIP3009 } from '../methods/eip3009.js';
import { reasonOfRevert } from '../revert-reason.js';
import type { Action, UsePossibility } from '../scheme.js';
import {
  EXPIRY_MARGIN_SECONDS,
  refuse,
  refuseByState,
  type Verdict,
  type VerifyContext,
  type VerifyScope,
} from '../verdict.js';
import { diagnose } from './diagnose.js';
import { EIP3009_EXPLANATIONS } from './explain-eip3009.js';
import { DEPLOYMENT_GAS, settlingOf, verifyUndeployed } from './verify-undeployed.js';

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

// ---------------------------------------------------------------- verification

/** The checks are in the order of the reference. */
export async function verifyEip3009(
  payment: Payment,
  claim: Eip3009Claim,
  context: VerifyContext,
  scope: VerifyScope,
): Promise<Verdict> {
  const { chain } = context;
  const { requirements } = payment;
  const { asset, tokenName: name, tokenVersion: version } = requirements;
  const frame = wrongFrame(payment);
  if (frame !== undefined) return refuse(frame);

  const wrapped = claim.signature && unwrapErc6492(claim.signature);
  if (typeof wrapped === 'string') return refuse('invalid_exact_evm_signature');
  const sent = wrapped?.inner ?? claim.signature ?? '0x';
  const signature = withNormalizedV(sent);
  let authorization = asEip3009Authorization(claim, signature);
  const domain: TokenDomain | undefined =
    typeof name === 'string' && typeof version === 'string'
      ? { name, version, chainId: chain.chainId, token: asset }
      : undefined;
  const digest = authorization && domain && eip3009Digest(authorization, domain);
  const isSignedByKey =
    digest !== undefined && (await context.recoverSigner(digest, signature)) === claim.from;
  const now = scope === 'full' ? BigInt(context.now) : undefined;
  const broken = firstBrokenTerm(payment, claim, now);

  // A promising payment starts all its reads at once. A bad payment skips reads that it does not need.
  const isPromising = isSignedByKey && broken === undefined && scope === 'full';
  const assetIsContract = isPromising ? started(chain.isContract(asset)) : undefined;
  const simulation =
    isPromising && authorization !== undefined
      ? started(simulate(settlingOf(authorization, asset), requirements, context))
      : undefined;
  const payerHasCode = claim.from !== undefined && (await chain.hasCode(claim.from));

  const deployment = payerHasCode ? undefined : wrapped?.deployment;
  if (deployment !== undefined && !context.walletFactories.has(deployment.factory)) {
    return refuseByState('eip6492_factory_not_allowed');
  }
  if (authorization === undefined || domain === undefined || digest === undefined) {
    return refuse('invalid_exact_evm_signature');
  }
  // A payment that is signed by a key needs no wallet.
  if (deployment !== undefined && !isSignedByKey) {
    const undeployed = { ...authorization, signature: sent, deployment };
    return verifyUndeployed(
      payment,
      { authorization: undeployed, domain, digest, broken },
      context,
      scope,
    );
  }
  // A contract may give meaning to every byte, so the signature is not normalized.
  if (payerHasCode) authorization = { ...authorization, signature: sent };
  const isSigned = payerHasCode
    ? await isSignedByContract(context, authorization.from, digest, sent)
    : isSignedByKey;
  if (!isSigned) return refuse('invalid_exact_evm_signature');
  rememberTokenDomain(domain);
  if (broken !== undefined) return refuse(broken);
  if (scope === 'terms') return { isValid: true, authorization, payerHasCode };
  if (!(await (assetIsContract ?? chain.isContract(asset)))) {
    return refuse('asset_not_deployed_contract');
  }
  const settling = settlingOf(authorization, asset);
  const failure = await (simulation ?? simulate(settling, requirements, context));
  if (failure === undefined) return { isValid: true, authorization, payerHasCode };
  const signed = authorization;
  return refuseFailed(failure, settling, requirements, context, (failed) =>
    diagnose(chain, requirements, signed, failed),
  );
}

/**
 * The first failed check of those that need neither chain nor signature.
 *
 * @param now - Unix seconds; absent if time no longer matters.
 */
function termsMismatchOfEip3009(
  payment: Payment,
  claim: Eip3009Claim,
  now?: bigint,
): Reason | undefined {
  return wrongFrame(payment) ?? firstBrokenTerm(payment, claim, now);
}

function wrongFrame({ requirements, accepted, dialect }: Payment): Reason | undefined {
  if (accepted.scheme !== 'exact') return 'invalid_exact_evm_scheme';
  if (!dialect.isAcceptedNetworkKnown) return 'invalid_exact_evm_network_mismatch';
  if (!requirements.tokenName || !requirements.tokenVersion) {
    return 'invalid_exact_evm_missing_eip712_domain';
  }
  return accepted.network === requirements.networkAsSent
    ? undefined
    : 'invalid_exact_evm_network_mismatch';
}

function firstBrokenTerm(
  { requirements, dialect }: Payment,
  claim: Eip3009Claim,
  now: bigint | undefined,
): Reason | undefined {
  if (claim.to !== requirements.payTo) return 'invalid_exact_evm_recipient_mismatch';
  if (now !== undefined) {
    if (claim.validBefore < now + EXPIRY_MARGIN_SECONDS) {
      return 'invalid_exact_evm_payload_authorization_valid_before';
    }
    if (claim.validAfter > now) return 'invalid_exact_evm_payload_authorization_valid_after';
  }
  if (claim.value === requirements.amount) return undefined;
  return dialect.x402Version === 1
    ? 'invalid_exact_evm_authorization_value'
    : 'invalid_exact_evm_payload_authorization_value_mismatch';
}
