import type { Address, Hex } from 'viem';
import type { Authorization } from '../evm/authorization.js';

/**
 * A verified payment, for the queue, the lanes and the ledger. It holds a live authorization, so it must never be
 * logged.
 */
export interface AcceptedPayment {
  readonly chainId: number;
  readonly asset: Address;
  readonly payTo: Address;
  /** Atomic units. */
  readonly amount: bigint;
  readonly authorization: Authorization;
  readonly payerHasCode: boolean;
  /** The token's EIP-712 domain from the seller; Permit2 needs none. */
  readonly tokenName: string | undefined;
  readonly tokenVersion: string | undefined;
  /** The suffix of its calldata, after all arguments; see `builder-code.ts`. */
  readonly dataSuffix?: Hex;
}

/** `eip155:56/0x…`, as assets are named in settings. */
export function assetNameOf(payment: { chainId: number; asset: Address }): string {
  return `eip155:${payment.chainId}/${payment.asset}`;
}

/**
 * The funds that a settlement in flight reserves.
 *
 * - `e`: the balance of the payer.
 * - `p`: the balance, and the allowance to Permit2.
 * - `s`: the balance, and the one sponsored permit, which sets its own allowance.
 * - `a`: the balance, and the approval transaction of the payer that is mined first.
 * - `n`: nothing, because it takes no money of a payer.
 * - `c`: no money, but a payout of the same receiver waits for it.
 */
export type InFlightKind = 'e' | 'p' | 's' | 'a' | 'n' | 'c';
