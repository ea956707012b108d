import type { Authorization } from '../../evm/authorization.js';
import { CHANNEL_ESCROW } from '../../evm/contracts.js';
import type { Payment } from '../../payment/payment.js';
import { refuse, refuseByState, type Verdict, type VerifyContext } from '../verdict.js';
import type { VoucherClaim } from './claims.js';
import { readChannel } from './escrow.js';
import {
  channelExtra,
  isVoucherSigned,
  missingContract,
  UNREAD,
  wrongChannel,
} from './verify-channel.js';

/**
 * Judges a voucher, or the wish for a refund, against the channel. Whether it pays for what is asked is the
 * seller's to know.
 *
 * @throws ChainUnavailableError
 */
export async function verifyVoucher(
  payment: Payment,
  claim: VoucherClaim,
  context: VerifyContext,
): Promise<Verdict> {
  const broken = wrongChannel(payment, claim);
  if (broken !== undefined) return refuse(broken);
  const missing = await missingContract(context.chain, [CHANNEL_ESCROW]);
  if (missing !== undefined) return missing;
  if (!(await isVoucherSigned(claim, context))) {
    return refuse('invalid_batch_settlement_evm_voucher_signature');
  }
  const { channelId, maxClaimable, signature } = claim.voucher;
  const state = await readChannel(context.chain, channelId);
  if (state === undefined) return UNREAD;
  if (state.balance === 0n) {
    return refuseByState('invalid_batch_settlement_evm_channel_not_found');
  }
  if (maxClaimable > state.balance) {
    return refuseByState('invalid_batch_settlement_evm_cumulative_exceeds_balance');
  }
  // A voucher that was claimed whole still allows a refund.
  const least = claim.isForRefund ? state.totalClaimed : state.totalClaimed + 1n;
  if (maxClaimable < least) {
    return refuseByState('invalid_batch_settlement_evm_cumulative_below_claimed');
  }
  const { scheme, method, from } = claim;
  const authorization: Authorization = { scheme, method, from, signature };
  return {
    isValid: true,
    authorization,
    payerHasCode: false,
    extra: channelExtra(channelId, state),
  };
}
