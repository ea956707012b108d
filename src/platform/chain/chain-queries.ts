import type { Address, Hex } from 'viem';
import type { Call } from '../../protocol/evm/calls.js';
import type { BlockHeader } from './block.js';

/**
 * A block to read at: the newest, one block by its hash (EIP-1898), whatever becomes of it, or whichever
 * block has a number.
 */
export type BlockPoint = 'latest' | { readonly blockHash: Hex } | { readonly blockNumber: bigint };

/** Where to look for logs (eth_getLogs). Both ends of the range count. */
export interface LogFilter {
  /** Whose logs; anybody's where it is missing. */
  readonly address?: Address | readonly Address[] | undefined;
  /** As in JSON-RPC: `null` takes anything, a list takes any of its members. */
  readonly topics: readonly (Hex | readonly Hex[] | null)[];
  readonly from: bigint;
  readonly to: bigint;
}

/** What a transaction asked of the chain. */
export interface TransactionCall {
  readonly hash: Hex;
  readonly from: Address | undefined;
  /** `null` where it created a contract. */
  readonly to: Address | null;
  readonly input: Hex;
  /** `undefined` where the node does not say. */
  readonly accountNonce: number | undefined;
  readonly valueWei: bigint;
}

/** A block with its transactions, as eth_getBlockByNumber gives it when it is asked for all of it. */
export interface FullBlock extends BlockHeader {
  readonly transactions: readonly TransactionCall[];
}

/** A call to simulate, with its sender. Wei. */
export interface CallFromSomebody extends Call {
  readonly from: Address;
  readonly value?: bigint;
}
