import type { Address, Hex } from 'viem';
import { readAuthorizationState } from '../../platform/chain/authorization-use.js';
import type { BlockHeader } from '../../platform/chain/block.js';
import type { ChainView } from '../../platform/chain/chain-view.js';
import type { EvmChain } from '../../platform/chain/evm-chain.js';
import type { Clock } from '../../platform/concurrency/clock.js';
import { ChainUnavailableError } from '../../protocol/errors.js';
import type { AuthorizationRef } from '../../protocol/schemes/authorization-method.js';
import { confirmedRead, readWithRetry } from './confirmed-read.js';
import { findTransactions, type Lost } from './find-transactions.js';
import type { LaneState, ReadTransaction, SeenTransaction } from './records.js';

/** A transaction to read. */
interface WantedTransaction {
  readonly hash: Hex;
  /** The expected block. Only a block that was read proves that it does not contain the transaction. */
  readonly blockNumber: bigint | undefined;
}

/** Transactions per read. */
const READ_AT_ONCE = 40;

/** Reads evidence from a chain, by two endpoints where there are two. */
export class ChainEvidence {
  readonly chainId: number;

  constructor(
    private readonly chain: Pick<
      EvmChain,
      'chainId' | 'views' | 'endpoints' | 'currentFinalizedBlock'
    >,
    private readonly clock: Clock,
  ) {
    this.chainId = chain.chainId;
  }

  /**
   * The newest final block.
   *
   * @throws ChainUnavailableError, also if there is no final block yet.
   */
  async finalBlock(): Promise<BlockHeader> {
    const final = await this.chain.currentFinalizedBlock();
    const header = final && (await this.header(final.number));
    // Two endpoints must agree, or reconciliation treats no block as final.
    if (header?.hash !== final?.hash || header === undefined) throw this.#unread('final block');
    return header;
  }

  /** @throws ChainUnavailableError, also if there is no such block. */
  async header(number: bigint): Promise<BlockHeader> {
    const header = await this.#confirmedRead(
      (view) => view.block(number),
      (block) => (block === undefined ? 'none' : `${block.hash} ${block.timestamp}`),
    );
    if (header === undefined) throw this.#unread('block');
    return header;
  }

  /**
   * The first block at or after a moment; the block after `last` if all blocks are earlier.
   *
   * @throws ChainUnavailableError
   */
  async firstBlockSince(ms: number, last: BlockHeader): Promise<bigint> {
    let [from, to] = [1n, last.number + 1n];
    while (from < to) {
      const middle = (from + to) / 2n;
      const { timestamp } = middle === last.number ? last : await this.header(middle);
      if (timestamp * 1000 >= ms) to = middle;
      else from = middle + 1n;
    }
    return from;
  }

  async look(wanted: readonly WantedTransaction[]): Promise<ReadonlyMap<Hex, ReadTransaction>> {
    const reads = new Map<Hex, ReadTransaction>();
    for (let at = 0; at < wanted.length; at += READ_AT_ONCE) {
      await Promise.all(
        wanted.slice(at, at + READ_AT_ONCE).map(async (one) => {
          reads.set(one.hash, await this.#read(one));
        }),
      );
    }
    return reads;
  }

  /** @returns `undefined` if the state cannot be read: most nodes delete the state of old blocks soon. */
  async laneState(lane: Address, { hash }: BlockHeader): Promise<LaneState | undefined> {
    const at = { blockHash: hash };
    const confirmed = await confirmedRead(
      this.chain,
      this.clock,
      async (view) => {
        const [nonce, balanceWei] = await Promise.all([
          view.transactionCount(lane, at),
          view.balance(lane, at),
        ]);
        return { nonce, balanceWei };
      },
      ({ nonce, balanceWei }) => `${nonce} ${balanceWei}`,
    );
    return confirmed?.value;
  }

  /**
   * Whether an authorization was used or cancelled by the end of a block.
   *
   * @returns `undefined` if no two endpoints agree, or the token has no such function.
   */
  async isUsed(ref: AuthorizationRef, { hash }: BlockHeader): Promise<boolean | undefined> {
    const confirmed = await confirmedRead(
      this.chain,
      this.clock,
      (view) => readAuthorizationState(view, ref, { blockHash: hash }),
      (state) => state,
    );
    if (confirmed === undefined || confirmed.value === 'cannot_tell') return undefined;
    return confirmed.value === 'used';
  }

  /** Hashes of found transactions by account nonce. They are hints, to be read like other transactions. */
  async find(lost: Lost): Promise<ReadonlyMap<number, Hex>> {
    const found = new Map<number, Hex>();
    for (const view of this.chain.views()) {
      const gaps = lost.gaps.filter(({ nonce }) => !found.has(nonce));
      if (gaps.length === 0) break;
      const more = await readWithRetry(view, this.clock, (patient) =>
        findTransactions(patient, { ...lost, gaps }),
      );
      for (const [nonce, hash] of more?.value ?? []) found.set(nonce, hash);
    }
    return found;
  }

  async #read({ hash, blockNumber }: WantedTransaction): Promise<ReadTransaction> {
    try {
      const transaction = await this.#confirmedRead((view) => readTransaction(view, hash), textOf);
      if (transaction !== undefined) return { kind: 'seen', transaction };
      if (blockNumber === undefined) return { kind: 'absent', isProven: false };
      // Nodes delete receipts and transaction look-ups by hash earlier than blocks.
      const isThere = await this.#confirmedRead(
        async (view) => {
          const block = await view.fullBlock(blockNumber);
          return block?.transactions.some((one) => one.hash === hash);
        },
        (answer) => String(answer),
      );
      return isThere === false ? { kind: 'absent', isProven: true } : { kind: 'unread' };
    } catch (error) {
      if (!(error instanceof ChainUnavailableError)) throw error;
      return { kind: 'unread' };
    }
  }

  async #confirmedRead<T>(
    read: (view: ChainView) => Promise<T>,
    keyOf: (value: T) => string,
  ): Promise<T> {
    const confirmed = await confirmedRead(this.chain, this.clock, read, keyOf);
    if (confirmed === undefined) throw this.#unread('the same twice');
    return confirmed.value;
  }

  #unread(what: string): ChainUnavailableError {
    return new ChainUnavailableError(this.chainId, what);
  }
}

/** @returns `undefined` if the node does not know the transaction. */
async function readTransaction(view: ChainView, hash: Hex): Promise<SeenTransaction | undefined> {
  const [receipt, call] = await Promise.all([view.receipt(hash), view.transaction(hash)]);
  if (receipt === undefined) return undefined;
  if (call?.from === undefined || call.accountNonce === undefined) {
    throw new ChainUnavailableError(view.chainId, 'transaction');
  }
  const { isSuccess, blockNumber, blockHash, gasUsed, effectiveGasPrice, dataFeeWei, logs } =
    receipt;
  return {
    hash,
    isSuccess,
    blockNumber,
    blockHash,
    logs,
    from: call.from,
    to: call.to,
    nonce: call.accountNonce,
    valueWei: call.valueWei,
    feeWei: gasUsed * effectiveGasPrice + dataFeeWei,
  };
}

function textOf(seen: SeenTransaction | undefined): string {
  if (seen === undefined) return 'none';
  const { logs, ...fields } = seen;
  const lines = logs.map(({ address, topics, data, logIndex }) =>
    [logIndex, address, ...topics, data].join(' '),
  );
  const { from, to, nonce, isSuccess, blockHash, blockNumber, feeWei, valueWei } = fields;
  const all = [from, to, nonce, isSuccess, blockHash, blockNumber, feeWei, valueWei, ...lines];
  return all.join('\n');
}
