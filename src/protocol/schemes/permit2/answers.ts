import type { Address, Hex } from 'viem';
import type {
  Authorization,
  PayerApproval,
  Permit2Authorization,
} from '../../evm/authorization.js';
import { type Call, permit2AllowanceCall } from '../../evm/calls.js';
import { transferIn } from '../../evm/logs.js';
import type { InFlightKind } from '../../payment/accepted-payment.js';
import type { HashPart } from '../../payment/hash.js';
import type { Permit2Claim, Requirements } from '../../payment/payment.js';
import { isUint256 } from '../../payment/wire-values.js';
import type { Reason } from '../../reasons.js';
import type { PresentedAuthorization } from '../authorization-method.js';
import { PERMIT2_METHOD } from '../methods/permit2.js';
import { reasonOfRevert } from '../revert-reason.js';
import type { Action, CallTerms, Preparation, SignedParts, UsePossibility } from '../scheme.js';
import { diagnosePermit2 } from './diagnose.js';

type Approved = Authorization & PayerApproval;

function inFlightKind({ sponsoredPermit, sponsoredApproval }: Approved): InFlightKind {
  if (sponsoredPermit !== undefined) return 's';
  return sponsoredApproval === undefined ? 'p' : 'a';
}

/** The rules that depend on how Permit2 is approved. */
export const PERMIT2_APPROVAL = {
  inFlightKindOf: inFlightKind,
  /** The allowance counts only if the payment brings no approval of its own. */
  allowanceCall: (authorization: Approved, asset: Address): Call | undefined =>
    inFlightKind(authorization) === 'p'
      ? permit2AllowanceCall(asset, authorization.from)
      : undefined,
  /** The approval of the payer is mined before the payment is sent. */
  preparationOf: (
    { from, sponsoredApproval }: Approved,
    { asset, amount }: CallTerms,
  ): Preparation | undefined =>
    sponsoredApproval && {
      transaction: sponsoredApproval,
      proof: permit2AllowanceCall(asset, from),
      least: amount,
      failed: 'erc20_approval_broadcast_failed',
    },
};

/** Common rules of the schemes with a Permit2 witness transfer through a proxy. */
export const PERMIT2_ANSWERS = {
  method: PERMIT2_METHOD,
  mayMeanUsed,

  nonceOf: ({ nonce }) => nonce,
  deadlineOf: ({ deadline }) => deadline,
  // Permit2 requires a block time of at most `deadline`.
  isExpiredAt: ({ deadline }, blockTime) => deadline < blockTime,

  ...PERMIT2_APPROVAL,
  transferOf: ({ from }, { asset, payTo, amount }) => ({ asset, payer: from, payTo, amount }),
  diagnose: (chain, terms, { from, spender }, failed) =>
    diagnosePermit2(chain, terms, { payer: from, proxy: spender }, failed),
  diagnosesUse: false,
  reasonOfRevert: (data) => reasonOfRevert(data, PERMIT2_METHOD.name),

  evidence: {
    by: 'logs',
    isNamed: false,
    logOf: (transfer, _, logs, taken) => transferIn(transfer, logs, taken),
  },
} satisfies Partial<Action<Permit2Claim, Permit2Authorization>>;

export const PERMIT2_REASONS = {
  used: 'permit2_invalid_nonce',
  expired: 'permit2_deadline_expired',
  insufficientBalance: 'permit2_insufficient_balance',
  insufficientAllowance: 'permit2_allowance_required',
  simulationFailed: 'permit2_simulation_failed',
} satisfies Partial<Action['reasons']>;

/** @param terms - the signed terms besides the nonce. */
export function permit2SignedParts(
  { from, nonce }: Permit2Claim,
  { chainId, asset }: Requirements,
  terms: readonly HashPart[],
): SignedParts | undefined {
  return isUint256(nonce)
    ? { key: PERMIT2_METHOD.keyOf(chainId, asset, from, nonce), terms, domain: [] }
    : undefined;
}

const SPONSORED_PERMIT_WORDS = 5;

/**
 * The words of a proxy call, starting with the permitted transfer.
 *
 * @param withPermit - selector of the function that takes a sponsored permit before these words.
 */
export function permit2Words(callData: Hex, withPermit: string): Hex {
  const isSponsored = callData.slice(2, 10) === withPermit;
  const skipped = isSponsored ? SPONSORED_PERMIT_WORDS * 64 : 0;
  return `0x${callData.slice(10 + skipped)}`;
}

export function presentedByPermit2({
  token,
  from,
  to,
  ...rest
}: Omit<PresentedAuthorization, 'method'>): PresentedAuthorization {
  const lower = (address: Address): Address => address.toLowerCase() as Address;
  return {
    method: PERMIT2_METHOD.name,
    token: lower(token),
    from: lower(from),
    to: lower(to),
    ...rest,
  };
}

/** Reasons that the execution of the payment, or the passed time, can cause. */
const MEANING_USED: ReadonlySet<Reason> = new Set<Reason>([
  'permit2_deadline_expired',
  'permit2_insufficient_balance',
  'permit2_allowance_required',
  'permit2_simulation_failed',
  // The approval of this payment has used this account nonce.
  'erc20_approval_tx_nonce_mismatch',
]);

/** Whether a refusal by Permit2 can be the result of an execution of the payment. */
function mayMeanUsed(reason: Reason): UsePossibility {
  if (MEANING_USED.has(reason)) return 'yes';
  // The payer may have deployed code after the payment.
  return reason === 'invalid_permit2_signature' ? 'if_payer_has_code' : 'no';
}
