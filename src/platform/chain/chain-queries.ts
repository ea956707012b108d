import type { Address, Hex } from 'viem';
import type { Call } from '../../protocol/evm/calls.js';
import type { BlockHeader } from './block.js';

/** The block of a read: the newest one, one block by its hash (EIP-1898), or the block with a number. */
export type BlockPoint = 'latest' | { readonly blockHash: Hex } | { readonly blockNumber: bigint };

/** The filter of logs (eth_getLogs). Both ends of the range are included. */
export interface LogFilter {
  /** The contracts of the logs; all contracts where it is missing. */
  readonly address?: Address | readonly Address[] | undefined;
  /** As in JSON-RPC: `null` matches anything, a list matches any of its members. */
  readonly topics: readonly (Hex | readonly Hex[] | null)[];
  readonly from: bigint;
  readonly to: bigint;
}

/** The call that a transaction made. */
export interface TransactionCall {
  readonly hash: Hex;
  readonly from: Address | undefined;
  /** `null` where it created a contract. */
  readonly to: Address | null;
  readonly input: Hex;
  /** `undefined` where the node does not return it. */
  readonly accountNonce: number | undefined;
  readonly valueWei: bigint;
}

/** A block with its transactions, from eth_getBlockByNumber. */
export interface FullBlock extends BlockHeader {
  readonly transactions: readonly TransactionCall[];
}

/** A call to simulate, with its sender. Wei. */
export interface CallFromSomebody extends Call {
  readonly from: Address;
  readonly value?: bigint;
}
