import type { Address, Hex } from 'viem';
import type { Call } from './calls.js';

/** What a call did, as the chain tells it. A call that could not be made at all throws instead. */
export type CallOutcome =
  | { readonly status: 'returned'; readonly data: Hex }
  | {
      readonly status: 'reverted';
      /** Revert data, where the node gives it. */
      readonly data: Hex | undefined;
    };

/**
 * Reads of one chain at its newest block. Every method throws {@link ChainUnavailableError} when no
 * endpoint can be asked: that says nothing about the payment.
 */
export interface ChainReader {
  readonly chainId: number;
  /** The x402 exact Permit2 proxy of this chain. */
  readonly permit2Proxy: Address;
  hasCode(address: Address): Promise<boolean>;
  /**
   * Whether there is a contract at a token's address. A yes is kept for 15 minutes, as the reference
   * does; a no is never kept.
   */
  isContract(asset: Address): Promise<boolean>;
  /** @param gas - gas limit of the simulated transaction; the node's own limit when absent. */
  call(call: Call, gas?: bigint): Promise<CallOutcome>;
}
