import type { ClaimRules, Scheme } from '../scheme.js';
import { BATCH_SETTLEMENT, type VoucherClaim } from './claims.js';
import { EIP3009_DEPOSIT, PERMIT2_DEPOSIT } from './deposit-actions.js';
import { channelEventsIn } from './escrow.js';
import { ownTermsOf, payerAsSent, readClaim, whyUnreadable } from './read-claim.js';
import { CLAIM, PAYOUT, REFUND } from './seller-actions.js';
import { wrongChannel } from './verify-channel.js';
import { verifyVoucher } from './verify-voucher.js';

/** Vouchers, and a buyer's wish for a refund: the seller keeps the one and completes the other. */
const VOUCHER: ClaimRules<VoucherClaim> = {
  method: { name: 'channel-voucher' },
  partiesOf: ({ config: { token, receiver } }) => [{ asset: token, payTo: receiver }],
  signedPartsOf: () => undefined,
  verify: verifyVoucher,
  termsMismatch: wrongChannel,
  mayMeanUsed: () => 'no',
  needsNoTransaction: () => true,
};

/**
 * The x402 scheme `batch-settlement`. A buyer puts money into a channel once and signs a growing total with each
 * call; the seller collects in batches. Its kinds have no `extra`: a key of this service that signs for receivers
 * would sign for anybody who asks.
 */
export const BATCH_SETTLEMENT_SCHEME: Scheme = {
  name: BATCH_SETTLEMENT,
  versions: [2],
  extensions: ['eip2612GasSponsoring'],
  sponsoredExtensions: ['erc20ApprovalGasSponsoring'],
  actions: [EIP3009_DEPOSIT, PERMIT2_DEPOSIT, CLAIM, PAYOUT, REFUND],
  verifyOnly: [VOUCHER],
  contracts: ['multicall3', 'permit2', 'channelEscrow', 'erc3009Collector', 'permit2Collector'],
  readClaim: (payload, _, requirements, purpose) => readClaim(payload, requirements, purpose),
  unreadable: whyUnreadable,
  ownTermsOf,
  payerAsSent,
  channelEventsIn,
};
