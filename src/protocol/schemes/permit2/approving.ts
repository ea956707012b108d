import type { Address } from 'viem';
import type { Permit2Authorization } from '../../evm/authorization.js';
import { type Call, permit2AllowanceCall } from '../../evm/calls.js';
import type { InFlightKind } from '../../payment/accepted-payment.js';
import type { CallTerms, Preparation } from '../scheme.js';

/** How a payer comes to have approved its token to Permit2, of every scheme that pays by it. */

export function permit2InFlightKind(authorization: Permit2Authorization): InFlightKind {
  if (authorization.sponsoredPermit !== undefined) return 's';
  return authorization.sponsoredApproval === undefined ? 'p' : 'a';
}

/** What it has approved counts where the payment does not bring an approval of its own. */
export function permit2Allowance(
  authorization: Permit2Authorization,
  asset: Address,
): Call | undefined {
  const isOwn = permit2InFlightKind(authorization) === 'p';
  return isOwn ? permit2AllowanceCall(asset, authorization.from) : undefined;
}

/** The payer's approval is mined before the payment is sent. */
export function approvalBefore(
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
