import { decodeUint } from '../../evm/call-results.js';
import { permit2AllowanceCall } from '../../evm/calls.js';
import type { PayerTransaction } from '../../evm/payer-transaction.js';
import type { Permit2Claim, Requirements } from '../../payment/payment.js';
import { settlementOf, type SettlingCall } from '../checks-on-chain.js';
import { type Refusal, refuse, refuseByState, type VerifyContext } from '../verdict.js';
import { refusalOnChain } from './approval-on-chain.js';
import { checkSponsoredApproval } from './sponsored-approval.js';

/** The result for the approval that a payment brings: not needed, usable or refused. */
type ApprovalVerdict =
  /** The approval is ignored: the payer has approved enough, or the operator does not sponsor this token. */
  | { readonly kind: 'needless' }
  | { readonly kind: 'good'; readonly transaction: PayerTransaction }
  | { readonly kind: 'refused'; readonly refusal: Refusal };

type ApprovalClaim = Pick<Permit2Claim, 'sponsoredPermit' | 'sponsoredApproval'>;

/** Whether a payment brings an approval that this service could sponsor. A sponsored permit takes precedence. */
export function mayBringApproval(
  { sponsoredApproval, sponsoredPermit }: ApprovalClaim,
  { approvals }: VerifyContext,
): boolean {
  return (
    approvals !== undefined && sponsoredApproval !== undefined && sponsoredPermit === undefined
  );
}

/**
 * Verifies the approval that a payment brings, and the payment after it.
 *
 * @param settling - the payment as it would be sent.
 * @throws ChainUnavailableError
 */
export async function verifyApproval(
  {
    from: payer,
    nonce,
    sponsoredApproval: sent,
  }: Pick<Permit2Claim, 'from' | 'nonce'> & ApprovalClaim,
  payerHasCode: boolean,
  settling: SettlingCall,
  requirements: Requirements,
  context: VerifyContext,
): Promise<ApprovalVerdict> {
  const { approvals, recoverSigner } = context;
  if (approvals === undefined || sent === undefined) return NEEDLESS;
  const { asset, amount, chainId } = requirements;
  const { chain, limits, confirm } = approvals;
  // Anyone can create a token. The owner of a worthless token could get any number of payers funded.
  if (!chain.isTrusted(asset)) return NEEDLESS;
  const allowance = decodeUint(await chain.call(permit2AllowanceCall(asset, payer)));
  // Repeated requests end here after the approval was mined.
  if (allowance === undefined || allowance >= amount) return NEEDLESS;
  const about = { payer, token: asset, amount, chainId };
  const checked = await checkSponsoredApproval(sent, about, limits, recoverSigner);
  if (!checked.ok) return refused(refuse(checked.reason));
  if (payerHasCode) return refused(refuseByState('erc20_approval_payer_has_code'));
  const { transaction } = checked;
  const settlement = settlementOf(settling, requirements, context);
  const approval = { transaction, payer, nonce, settlement };
  const reason = await refusalOnChain(chain, approval, limits, confirm);
  if (reason !== undefined) return refused(refuseByState(reason));
  const { raw, hash, accountNonce, gas, maxFeePerGas } = transaction;
  return { kind: 'good', transaction: { raw, hash, accountNonce, gas, maxFeePerGas } };
}

const NEEDLESS: ApprovalVerdict = { kind: 'needless' };
const refused = (refusal: Refusal): ApprovalVerdict => ({ kind: 'refused', refusal });
