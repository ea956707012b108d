import type { Scheme } from '../scheme.js';
import { BATCH_SETTLEMENT } from './claims.js';
import { EIP3009_DEPOSIT, PERMIT2_DEPOSIT } from './deposit-actions.js';
import { amountOf, payerAsSent, readChannelClaim, whyUnreadable } from './read-claim.js';

/**
 * The x402 scheme `batch-settlement`. A buyer puts money into a channel once and signs a growing total with each
 * call; the seller collects in batches. Its kinds have no `extra`: a key of this service that signs for receivers
 * would sign for anybody who asks.
 */
export const BATCH_SETTLEMENT_SCHEME: Scheme = {
  name: BATCH_SETTLEMENT,
  versions: [2],
  extensions: ['eip2612GasSponsoring'],
  actions: [EIP3009_DEPOSIT, PERMIT2_DEPOSIT],
  contracts: ['permit2', 'channelEscrow', 'erc3009Collector', 'permit2Collector'],
  readClaim: (payload, _, requirements) => readChannelClaim(payload, requirements),
  unreadable: whyUnreadable,
  amountOf,
  payerAsSent,
};
