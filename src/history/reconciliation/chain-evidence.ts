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
import type { LaneState, SeenTransaction, Sight } from './records.js';

/** A transaction to read. */
interface WantedTransaction {
  readonly hash: Hex;
  /** The block it should be in: only a block that was read proves that it is not there. */
  readonly blockNumber: bigint | undefined;
}

/** Transactions that are read at once. */
const READ_AT_ONCE = 40;

/** What a chain shows, by two endpoints where there are two. */
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
   * The newest block that cannot be replaced.
   *
   * @throws ChainUnavailableError, also before the first one.
   */
  async finalBlock(): Promise<BlockHeader> {
    const final = await this.chain.currentFinalizedBlock();
    const header = final && (await this.header(final.number));
    // Two of them, or nothing is final for the books.
    if (header?.hash !== final?.hash || header === undefined) throw this.#unread('final block');
    return header;
  }

  /** @throws ChainUnavailableError, also where there is no such block. */
  async header(number: bigint): Promise<BlockHeader> {
    const header = await this.#confirmedRead(
      (view) => view.block(number),
      (block) => (block === undefined ? 'none' : `${block.hash} ${block.timestamp}`),
    );
    if (header === undefined) throw this.#unread('block');
    return header;
  }

  /**
   * The first block that is not before a moment, the one after `last` if all of them are.
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

  async look(wanted: readonly WantedTransaction[]): Promise<ReadonlyMap<Hex, Sight>> {
    const sights = new Map<Hex, Sight>();
    for (let at = 0; at < wanted.length; at += READ_AT_ONCE) {
      await Promise.all(
        wanted.slice(at, at + READ_AT_ONCE).map(async (one) => {
          sights.set(one.hash, await this.#sight(one));
        }),
      );
    }
    return sights;
  }

  /** @returns `undefined` where it cannot be read: most nodes forget the state of past blocks soon. */
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
   * @returns `undefined` where no two endpoints say the same, or its token does not tell.
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

  /** Hashes of the transactions that were found, by account nonce; they are hints. */
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

  async #sight({ hash, blockNumber }: WantedTransaction): Promise<Sight> {
    try {
      const transaction = await this.#confirmedRead((view) => readTransaction(view, hash), textOf);
      if (transaction !== undefined) return { kind: 'seen', transaction };
      if (blockNumber === undefined) return { kind: 'absent', isProven: false };
      // Nodes forget receipts and look-ups by hash before they forget blocks.
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

/** @returns `undefined` where the node knows no such transaction. */
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
