import { decodeUint } from '../../evm/call-results.js';
import { permit2AllowanceCall } from '../../evm/calls.js';
import type { PayerTransaction } from '../../evm/payer-transaction.js';
import type { Payment, Permit2Claim } from '../../payment/payment.js';
import { settlementOf, type SettlingCall } from '../checks-on-chain.js';
import { type Refusal, refuse, refuseByState, type VerifyContext } from '../verdict.js';
import { refusalOnChain } from './approval-on-chain.js';
import { checkSponsoredApproval } from './sponsored-approval.js';

/** Whether the approval that a payment brings is needed, usable or refused. */
type ApprovalVerdict =
  /** It is not looked at: the payer has approved enough, or its token is not one that is paid for. */
  | { readonly kind: 'needless' }
  | { readonly kind: 'good'; readonly transaction: PayerTransaction }
  | { readonly kind: 'refused'; readonly refusal: Refusal };

/** Whether a payment brings an approval that this service would pay for. A permit goes before it. */
export function mayBringApproval(claim: Permit2Claim, { approvals }: VerifyContext): boolean {
  return (
    approvals !== undefined &&
    claim.sponsoredApproval !== undefined &&
    claim.sponsoredPermit === undefined
  );
}

/**
 * Judges the approval that a payment brings, and the payment after it.
 *
 * @param settling - the payment as it would be sent.
 * @throws ChainUnavailableError
 */
export async function verifyApproval(
  { from: payer, nonce, sponsoredApproval: sent }: Permit2Claim,
  payerHasCode: boolean,
  settling: SettlingCall,
  { requirements }: Payment,
  context: VerifyContext,
): Promise<ApprovalVerdict> {
  const { approvals, recoverSigner } = context;
  if (approvals === undefined || sent === undefined) return NEEDLESS;
  const { asset, amount, chainId } = requirements;
  const { chain, limits, confirm } = approvals;
  // Anyone can make a token: with a worthless one, its owner could have any number of payers funded.
  if (!chain.isTrusted(asset)) return NEEDLESS;
  const allowance = decodeUint(await chain.call(permit2AllowanceCall(asset, payer)));
  // Every repetition of a payment whose approval was mined comes this way.
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
