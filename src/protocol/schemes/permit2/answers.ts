import type { Address, Hex } from 'viem';
import type { Permit2Authorization } from '../../evm/authorization.js';
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
import type { Action, CallTerms, HiddenUse, Preparation, SignedParts } from '../scheme.js';
import { diagnosePermit2 } from './diagnose.js';

/** The methods shared by the schemes that pay by a Permit2 witness transfer through a proxy. */
export const PERMIT2_ANSWERS = {
  method: PERMIT2_METHOD,
  mayHideUse,

  nonceOf: ({ nonce }) => nonce,
  deadlineOf: ({ deadline }) => deadline,
  // Permit2 wants a block time that is not above `deadline`.
  isExpiredAt: ({ deadline }, blockTime) => deadline < blockTime,

  inFlightKindOf: permit2InFlightKind,
  allowanceCall: permit2Allowance,

  preparationOf: approvalBefore,
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

/** @param terms - what the payer signed beside the nonce. */
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
 * The words of a call of a proxy from the permitted transfer on.
 *
 * @param withPermit - selector of its function that takes a sponsored permit before them.
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

/** Reasons whose cause may be the execution of the payment itself, or the time since. */
const HIDING_USE: ReadonlySet<Reason> = new Set<Reason>([
  'permit2_deadline_expired',
  'permit2_insufficient_balance',
  'permit2_allowance_required',
  'permit2_simulation_failed',
]);

/** Whether a refusal of a payment by Permit2 may be that of one which the chain has executed. */
function mayHideUse(reason: Reason): HiddenUse {
  if (HIDING_USE.has(reason)) return 'yes';
  // Code of the payer may have come after the payment.
  return reason === 'invalid_permit2_signature' ? 'if_payer_has_code' : 'no';
}

function permit2InFlightKind(authorization: Permit2Authorization): InFlightKind {
  if (authorization.sponsoredPermit !== undefined) return 's';
  return authorization.sponsoredApproval === undefined ? 'p' : 'a';
}

/** The allowance counts only where the payment does not bring an approval of its own. */
function permit2Allowance(authorization: Permit2Authorization, asset: Address): Call | undefined {
  const isOwn = permit2InFlightKind(authorization) === 'p';
  return isOwn ? permit2AllowanceCall(asset, authorization.from) : undefined;
}

/** The payer's approval is mined before the payment is sent. */
function approvalBefore(
  { from, sponsoredApproval }: Permit2Authorization,
  { asset, amount }: CallTerms,
): Preparation | undefined {
  return (
    sponsoredApproval && {
      transaction: sponsoredApproval,
      proof: permit2AllowanceCall(asset, from),
      least: amount,
      failed: 'erc20_approval_broadcast_failed',
    }
  );
}
