import { type Address, decodeAbiParameters, getAddress } from 'viem';
import type { Finding } from '../../diagnosis/finding.js';
import { asUptoAuthorization, type UptoAuthorization } from '../../evm/authorization.js';
import type { ChainReader } from '../../evm/chain-reader.js';
import { uptoDigest } from '../../evm/typed-data.js';
import { UPTO_SETTLE, UPTO_SETTLE_WITH_PERMIT, uptoSettlementCall } from '../../evm/upto-calls.js';
import type { Payment, UptoClaim } from '../../payment/payment.js';
import {
  isUint256,
  type JsonObject,
  readAddress,
  readBytes,
  readInteger,
  readOptionalObject,
  SIGNATURE_MAX_BYTES,
} from '../../payment/wire-values.js';
import type { Reason } from '../../reasons.js';
import { type Explanations, wrongNetwork, wrongScheme } from '../explain-frame.js';
import { PERMIT2_METHOD } from '../methods/permit2.js';
import {
  PERMIT2_ANSWERS,
  PERMIT2_REASONS,
  permit2SignedParts,
  permit2Words,
  presentedByPermit2,
} from '../permit2/answers.js';
import { decodePermit2 } from '../permit2/decode.js';
import { PERMIT2_EXPLANATIONS } from '../permit2/explain.js';
import { readPermit2Claim } from '../permit2/read-claim.js';
import {
  isTooEarly,
  isTooLate,
  verifyWitness,
  type WitnessRules,
} from '../permit2/verify-witness.js';
import type { Action, Scheme } from '../scheme.js';
import { refuseByState, type Verdict, type VerifyContext, type VerifyScope } from '../verdict.js';

/** Words: token, maximum, nonce, deadline, amount, owner, witness.to, witness.facilitator, witness.validAfter. */
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

/** A payment of at most the signed amount, by Permit2 through the x402 upto proxy. */
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
  // Its sender must be the facilitator of the witness itself, not Multicall3.
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

/** The x402 scheme `upto`: the buyer signs a maximum, the seller settles the used amount. */
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

const DECIMAL_DIGITS = /^\d{1,78}$/;

export function payerAsSent(inner: JsonObject): unknown {
  return readOptionalObject(inner['permit2Authorization'])?.['from'];
}

export function readUptoClaim(payload: JsonObject): UptoClaim | undefined {
  const inner = readOptionalObject(payload['payload']);
  if (inner === undefined || !hasShape(inner)) return undefined;
  const signature = readBytes(inner['signature'], SIGNATURE_MAX_BYTES);
  const permit = readPermit2Claim(inner, signature, payload);
  const facilitator = readAddress(witnessIn(inner)?.['facilitator']);
  if (permit === undefined || facilitator === undefined) return undefined;
  return { ...permit, scheme: 'upto', facilitator };
}

/** The reference distinguishes a payload of another form from one with malformed values. */
export function whyUnreadable(payload: JsonObject): Reason {
  const inner = readOptionalObject(payload['payload']);
  return inner !== undefined && hasShape(inner) ? 'invalid_payload' : 'unsupported_payload_type';
}

/** Whether every leaf exists as text. */
function hasShape(inner: JsonObject): boolean {
  const permit = readOptionalObject(inner['permit2Authorization']);
  const permitted = readOptionalObject(permit?.['permitted']);
  const witness = witnessIn(inner);
  const leaves = [
    inner['signature'],
    permit?.['from'],
    permit?.['spender'],
    permit?.['nonce'],
    permit?.['deadline'],
    permitted?.['token'],
    permitted?.['amount'],
    witness?.['facilitator'],
    witness?.['to'],
    witness?.['validAfter'],
  ];
  return leaves.every((leaf) => typeof leaf === 'string');
}

function witnessIn(inner: JsonObject): JsonObject | undefined {
  const permit = readOptionalObject(inner['permit2Authorization']);
  return readOptionalObject(permit?.['witness']);
}

/** Reads the amount that a seller settles: decimal digits, within uint256. */
export function readUptoAmount(sent: unknown): bigint | undefined {
  if (typeof sent !== 'string' || !DECIMAL_DIGITS.test(sent)) return undefined;
  const amount = readInteger(sent);
  return amount !== undefined && isUint256(amount) ? amount : undefined;
}

const AUTHORIZATION = 'paymentPayload.payload.permit2Authorization';

/** The place of the fault in an upto payment, for each reason of its checks. */
export const UPTO_EXPLANATIONS: Explanations<UptoClaim> = {
  ...PERMIT2_EXPLANATIONS,
  invalid_upto_evm_scheme: wrongScheme('upto'),
  invalid_upto_evm_network_mismatch: wrongNetwork,
  upto_facilitator_mismatch: (_, { facilitator }) => ({
    path: `${AUTHORIZATION}.witness.facilitator`,
    expected: 'extra.facilitatorAddress of /supported',
    got: facilitator,
  }),
  invalid_upto_evm_payload_settlement_exceeds_amount: exceedsMaximum,
  upto_amount_exceeds_permitted: exceedsMaximum,
};

function exceedsMaximum({ requirements }: Payment, { amount }: UptoClaim): Finding {
  return {
    path: 'paymentRequirements.amount',
    expected: `at most ${amount}, which the payer signed`,
    got: requirements.amount,
  };
}

// ---------------------------------------------------------------- verification

const RULES: WitnessRules<UptoClaim, UptoAuthorization> = {
  mismatch: (payment, claim, { chain, sender }, now) =>
    wrongFrame(payment) ??
    wrongParties(payment, claim, chain) ??
    // Without a time the payment was verified before, and its sender is already chosen.
    (now !== undefined && sender?.address !== claim.facilitator
      ? 'upto_facilitator_mismatch'
      : undefined) ??
    wrongTerms(payment, claim, now),
  lateMismatch: exceedsWhatWasSigned,
  isSenderBound: true,
  proxyOf: ({ uptoProxy }) => uptoProxy,
  authorizationOf: asUptoAuthorization,
  digestOf: uptoDigest,
  callOf: (authorization, { amount }) =>
    isNothing(amount, authorization) ? undefined : uptoSettlementCall(authorization, amount),
};

/**
 * Verifies a payment of the scheme upto (V2 only) for the required amount: the maximum in a verify, the charged
 * amount in a settle.
 */
async function verifyUpto(
  payment: Payment,
  claim: UptoClaim,
  context: VerifyContext,
  scope: VerifyScope,
): Promise<Verdict> {
  const verdict = await verifyWitness(RULES, payment, claim, context, scope);
  const { asset, amount } = payment.requirements;
  if (!verdict.isValid || scope === 'terms' || !isNothing(amount, claim)) return verdict;
  // Without a simulation the nonce must be read.
  const { method, from: payer, nonce } = claim;
  const ref = { method, asset, payer, nonce };
  const isUsed = PERMIT2_METHOD.readState(
    await context.chain.call(PERMIT2_METHOD.stateCall(ref)),
    ref,
  );
  return isUsed === false ? verdict : refuseByState('permit2_invalid_nonce');
}

/** The first failed check of those that need neither chain, clock nor signature. */
function termsMismatchOfUpto(
  payment: Payment,
  claim: UptoClaim,
  chain: Pick<ChainReader, 'schemeContracts'>,
): Reason | undefined {
  return (
    wrongFrame(payment) ??
    wrongParties(payment, claim, chain) ??
    wrongTerms(payment, claim, undefined) ??
    exceedsWhatWasSigned(payment, claim)
  );
}

function wrongFrame({ requirements, accepted }: Payment): Reason | undefined {
  if (accepted.scheme !== 'upto') return 'invalid_upto_evm_scheme';
  return accepted.network === requirements.networkAsSent
    ? undefined
    : 'invalid_upto_evm_network_mismatch';
}

function wrongParties(
  { requirements }: Payment,
  { spender, witnessTo }: UptoClaim,
  { schemeContracts }: Pick<ChainReader, 'schemeContracts'>,
): Reason | undefined {
  if (spender !== schemeContracts.uptoProxy) return 'invalid_permit2_spender';
  return witnessTo === requirements.payTo ? undefined : 'invalid_permit2_recipient_mismatch';
}

function wrongTerms(
  { requirements, purpose }: Payment,
  claim: UptoClaim,
  now: bigint | undefined,
): Reason | undefined {
  if (isTooLate(claim, now)) return 'permit2_deadline_expired';
  if (isTooEarly(claim, now)) return 'permit2_not_yet_valid';
  if (purpose === 'verify' && claim.amount !== requirements.amount) {
    return 'permit2_amount_mismatch';
  }
  return claim.token === requirements.asset ? undefined : 'permit2_token_mismatch';
}

function exceedsWhatWasSigned(
  { requirements, purpose }: Payment,
  { amount }: UptoClaim,
): Reason | undefined {
  return purpose === 'settle' && requirements.amount > amount
    ? 'invalid_upto_evm_payload_settlement_exceeds_amount'
    : undefined;
}

/** Whether the seller charges 0 of a maximum above 0. A maximum of 0 is not a payment. */
function isNothing(amount: bigint, { amount: maximum }: { readonly amount: bigint }): boolean {
  return amount === 0n && maximum > 0n;
}
