import type { Address, Hex } from 'viem';
import type { Authorization } from '../evm/authorization.js';

/**
 * A payment that was judged good: what the queue, the lanes and the ledger work with. It holds a live
 * authorization, so it must never be logged.
 */
export interface AcceptedPayment {
  readonly chainId: number;
  readonly asset: Address;
  readonly payTo: Address;
  /** Atomic units. */
  readonly amount: bigint;
  readonly authorization: Authorization;
  readonly payerHasCode: boolean;
  /** The token's EIP-712 domain as the seller gave it; Permit2 needs none. */
  readonly tokenName: string | undefined;
  readonly tokenVersion: string | undefined;
  /** The suffix of its calldata, behind all that the contract reads; see `builder-code.ts`. */
  readonly dataSuffix?: Hex;
}

/** `eip155:56/0x…`, as assets are named in settings. */
export function assetNameOf(payment: { chainId: number; asset: Address }): string {
  return `eip155:${payment.chainId}/${payment.asset}`;
}

/**
 * What a settlement counts for while it is in flight: `e` the payer's balance, `p` balance and what it has
 * approved (Permit2), `s` balance and its one sponsored permit, which brings its own approval, `a` balance
 * and the one transaction of its own that is mined first, `n` nothing, as it takes no
 * money of a payer, `c` no money either, but a payout of the same receiver waits for it.
 */
export type InFlightKind = 'e' | 'p' | 's' | 'a' | 'n' | 'c';
