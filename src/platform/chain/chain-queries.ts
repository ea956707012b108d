import type { Address, Hex } from 'viem';
import type { Call } from '../../protocol/evm/calls.js';
import type { CallOutcome, ChainReader, Sender } from '../../protocol/evm/chain-reader.js';
import type { BlockHeader } from './block.js';
import type { FoundLog, Receipt } from './receipt.js';

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

/** A call to simulate, from somebody. Wei. */
export interface CallFromSomebody extends Call {
  readonly from: Address;
  readonly value?: bigint;
}

/**
 * Everything this service asks of one endpoint, by name and with types: nothing outside this room
 * speaks JSON-RPC.
 *
 * Every method throws {@link ChainUnavailableError} when this endpoint does not answer, answers with an
 * error, or answers something malformed. What is not there is `undefined`. One endpoint says what it
 * likes: what is believed for good is asked through `EvmChain.agree`.
 */
export interface ChainQueries extends ChainReader {
  /** Number of the newest block. */
  blockNumber(): Promise<bigint>;
  /** Header of the newest block. */
  latestBlock(): Promise<BlockHeader>;
  /**
   * Header of the newest block that cannot be replaced: by the tag where this node has it, else by
   * depth below `latest`. `undefined` on a chain that is younger than that.
   */
  finalizedBlock(latest: BlockHeader): Promise<BlockHeader | undefined>;
  /** `undefined` where this node has no block of this number. */
  block(number: bigint): Promise<BlockHeader | undefined>;
  fullBlock(number: bigint): Promise<FullBlock | undefined>;
  /**
   * Receipts of all transactions of a block (eth_getBlockReceipts); `undefined` where this node has no
   * such block. Many nodes do not have the method: they answer with an error.
   */
  blockReceipts(number: bigint): Promise<readonly Receipt[] | undefined>;
  /** `undefined` while the transaction is not mined, as far as this node knows. */
  receipt(hash: Hex): Promise<Receipt | undefined>;
  /** `undefined` where this node knows no such transaction, mined or not. */
  transaction(hash: Hex): Promise<TransactionCall | undefined>;
  logs(filter: LogFilter): Promise<readonly FoundLog[]>;
  /** Account nonces below this are used. `pending` counts what is in the pool of this node too. */
  transactionCount(address: Address, at: BlockPoint | 'pending'): Promise<number>;
  /** Wei. */
  balance(address: Address, at?: BlockPoint): Promise<bigint>;
  hasCode(address: Address, at?: BlockPoint): Promise<boolean>;
  /** Wei for a unit of gas, base fee and tip together. */
  gasPrice(): Promise<bigint>;
  /** Wei; `undefined` where this node does not have eth_maxPriorityFeePerGas. */
  suggestedTip(): Promise<bigint | undefined>;
  /** Gas units. Throws where the call would revert, too. */
  estimateGas(call: CallFromSomebody): Promise<bigint>;
  /** @param gas - gas limit; a bounded one when absent. */
  call(call: Call, gas?: bigint, at?: BlockPoint): Promise<CallOutcome>;
  /** @param sender - whose call it is; the node's default when absent. */
  callFrom(sender: Sender | undefined, call: Call, gas: bigint): Promise<CallOutcome>;
}
