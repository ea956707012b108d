import type { Address, Hex } from 'viem';
import type { Permit2Authorization } from '../../evm/authorization.js';
import type { HashPart } from '../../payment/hash.js';
import type { Permit2Claim, Requirements } from '../../payment/payment.js';
import { isUint256 } from '../../payment/wire-values.js';
import type { PresentedAuthorization } from '../authorization-method.js';
import { PERMIT2_METHOD } from '../methods/permit2.js';
import { reasonOfRevert } from '../revert-reason.js';
import type { Action, SignedParts } from '../scheme.js';
import { transferIn } from '../transfer-evidence.js';
import { approvalBefore, permit2Allowance, permit2InFlightKind } from './approving.js';
import { diagnosePermit2 } from './diagnose.js';
import { mayHideUse } from './hidden-use.js';

/** What every scheme answers alike that pays by a Permit2 witness transfer through a proxy. */
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
