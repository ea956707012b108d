import type { Scheme } from '../scheme.js';
import { EXACT_EIP3009 } from './exact-eip3009.js';
import { EXACT_PERMIT2 } from './exact-permit2.js';
import { payerAsSent, readExactClaim } from './read-claim.js';

/** The x402 scheme `exact` on EVM chains: one payment of one amount, by EIP-3009 or Permit2. */
export const EXACT: Scheme = {
  name: 'exact',
  versions: [1, 2],
  extensions: ['eip2612GasSponsoring'],
  sponsoredExtensions: ['erc20ApprovalGasSponsoring'],
  actions: [EXACT_EIP3009, EXACT_PERMIT2],
  // EIP-3009 needs none.
  contracts: [],
  readClaim: readExactClaim,
  payerAsSent,
};
