import { type Hex } from 'viem';
import type { ChainReader } from '../../evm/chain-reader.js';
import { isCanonical } from '../../evm/signature.js';
import type { Payment } from '../../payment/payment.js';
import type { JsonObject } from '../../payment/wire-values.js';
import type { Reason } from '../../reasons.js';
import { isSignedByContract } from '../checks-on-chain.js';
import { type Refusal, refuse, refuseByState, type VerifyContext } from '../verdict.js';
import { channelIdOf, type ChannelState, hasVoucherKey, voucherDigest } from './channel.js';
import type { DepositClaim, VoucherClaim } from './claims.js';

/** Checks that every message about a channel has to pass, in the order of the reference. */

/** Seconds that the escrow allows. */
const WITHDRAW_DELAY_MIN = 900;
const WITHDRAW_DELAY_MAX = 2_592_000;

/** The first broken one of the checks that need neither the chain nor a signature. */
export function wrongChannel(
  { requirements, accepted }: Payment,
  { config, voucher, offer }: DepositClaim | VoucherClaim,
): Reason | undefined {
  if (accepted.scheme !== 'batch-settlement') return 'invalid_batch_settlement_evm_scheme';
  if (accepted.network !== requirements.networkAsSent) {
    return 'invalid_batch_settlement_evm_network_mismatch';
  }
  if (channelIdOf(config, requirements.chainId) !== voucher.channelId) {
    return 'invalid_batch_settlement_evm_channel_id_mismatch';
  }
  if (config.receiver !== requirements.payTo) {
    return 'invalid_batch_settlement_evm_receiver_mismatch';
  }
  if (config.receiverAuthorizer !== offer.receiverAuthorizer) {
    return 'invalid_batch_settlement_evm_receiver_authorizer_mismatch';
  }
  if (config.token !== requirements.asset) return 'invalid_batch_settlement_evm_token_mismatch';
  const { withdrawDelay } = config;
  if (offer.withdrawDelay !== undefined && offer.withdrawDelay !== withdrawDelay) {
    return 'invalid_batch_settlement_evm_withdraw_delay_mismatch';
  }
  return withdrawDelay < WITHDRAW_DELAY_MIN || withdrawDelay > WITHDRAW_DELAY_MAX
    ? 'invalid_batch_settlement_evm_withdraw_delay_out_of_range'
    : undefined;
}

/**
 * Whether the contract will take the voucher when it is claimed: a later no would hold up everything that is
 * claimed with it.
 *
 * @throws ChainUnavailableError
 */
export async function isVoucherSigned(
  { config, voucher }: Pick<DepositClaim, 'config' | 'voucher'>,
  context: VerifyContext,
): Promise<boolean> {
  const { chain } = context;
  const digest = voucherDigest(voucher, chain.chainId);
  const isByKey = hasVoucherKey(config) || !(await chain.hasCode(config.payer));
  if (!isByKey) return isSignedByContract(context, config.payer, digest, voucher.signature);
  const signer = hasVoucherKey(config) ? config.payerAuthorizer : config.payer;
  return (
    isCanonical(voucher.signature) &&
    (await context.recoverSigner(digest, voucher.signature)) === signer
  );
}

/** @returns a refusal where this chain does not have what the call goes to. */
export async function missingContract(
  chain: ChainReader,
  contracts: Parameters<ChainReader['isContract']>[0][],
): Promise<Refusal | undefined> {
  const found = await Promise.all(contracts.map((address) => chain.isContract(address)));
  // A call to an address without code succeeds.
  return found.every(Boolean) ? undefined : refuse('unsupported_scheme');
}

/** What a verify answer says of the channel. */
export function channelExtra(channelId: Hex, state: ChannelState): JsonObject {
  return {
    channelId,
    balance: state.balance.toString(),
    totalClaimed: state.totalClaimed.toString(),
    withdrawRequestedAt: state.withdrawRequestedAt,
    refundNonce: state.refundNonce.toString(),
  };
}

export const UNREAD: Refusal = refuseByState('invalid_batch_settlement_evm_rpc_read_failed');
