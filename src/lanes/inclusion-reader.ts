import { readBlockNumber } from '../chain/authorization-use.js';
import { quantity, readBlockHeader, readQuantity } from '../chain/block.js';
import type { ChainView } from '../chain/chain-view.js';
import { LAG_MAX_BLOCKS } from '../chain/endpoint-health.js';
import type { EvmChain } from '../chain/evm-chain.js';
import { type Receipt, readReceipt } from '../chain/receipt.js';
import { ChainUnavailableError } from '../core/errors.js';
import { creditLogs } from '../core/exact/evidence.js';
import { newestTransactionOf } from '../core/settlement/attempt.js';
import type { Address, Hex } from 'viem';
import type { Inclusion, TrackedAttempt } from './tracked-attempt.js';

/** What one look at a block showed about a lane. */
export interface InclusionLook {
  /** Account nonces below this are used on chain. */
  readonly usedNonces: number;
  readonly included: ReadonlyMap<TrackedAttempt, Inclusion>;
}

/** Reads from the chain which attempts are mined. Says nothing about what is not found. */
export class InclusionReader {
  constructor(
    private readonly chain: EvmChain,
    private readonly signer: Address,
  ) {}

  /**
   * Looks for the newest transaction of every attempt, and for all others of those whose nonce is
   * used: any of them may be the one that was mined.
   *
   * @throws ChainUnavailableError
   */
  async look(view: ChainView, attempts: readonly TrackedAttempt[]): Promise<InclusionLook> {
    const [count, newest] = await Promise.all([
      view.read('eth_getTransactionCount', [this.signer, 'latest']),
      Promise.all(attempts.map((one) => receiptOf(view, newestTransactionOf(one.attempt).hash))),
    ]);
    const usedNonces = Number(readQuantity(count) ?? 0n);
    const included = new Map<TrackedAttempt, Inclusion>();
    await Promise.all(
      attempts.map(async (tracked, index) => {
        const receipt =
          newest[index] ??
          (tracked.accountNonce < usedNonces ? await this.#olderReceipt(view, tracked) : undefined);
        if (receipt !== undefined) included.set(tracked, inclusionOf(tracked, receipt));
      }),
    );
    return { usedNonces, included };
  }

  async #olderReceipt(view: ChainView, { attempt }: TrackedAttempt): Promise<Receipt | undefined> {
    const older = attempt.transactions.slice(0, -1).reverse();
    for (const { hash } of older) {
      const receipt = await receiptOf(view, hash);
      if (receipt !== undefined) return receipt;
    }
    return undefined;
  }

  /** Looks for any transaction of an attempt at every endpoint that answers. */
  async lookEverywhere(tracked: TrackedAttempt): Promise<Inclusion | undefined> {
    for (const view of this.chain.views()) {
      try {
        for (const { hash } of [...tracked.attempt.transactions].reverse()) {
          const receipt = await receiptOf(view, hash);
          if (receipt !== undefined) return inclusionOf(tracked, receipt);
        }
      } catch (error) {
        if (!(error instanceof ChainUnavailableError)) throw error;
      }
    }
    return undefined;
  }

  /** The hashes of the blocks that are on this node's chain at these heights. */
  async blockHashes(
    view: ChainView,
    numbers: readonly bigint[],
  ): Promise<ReadonlyMap<bigint, Hex | undefined>> {
    const blocks = await Promise.all(
      numbers.map((number) => view.read('eth_getBlockByNumber', [quantity(number), false])),
    );
    return new Map(numbers.map((number, index) => [number, readBlockHeader(blocks[index])?.hash]));
  }

  /**
   * Whether a second endpoint has the block too. With one endpoint, or while no other one answers or
   * keeps up, there is nobody to ask.
   */
  async isConfirmedElsewhere(view: ChainView, blockNumber: bigint, hash: Hex): Promise<boolean> {
    const others = this.chain.views().filter(({ health }) => health !== view.health);
    for (const other of others) {
      try {
        const [hashes, height] = await Promise.all([
          this.blockHashes(other, [blockNumber]),
          readBlockNumber(other),
        ]);
        const found = hashes.get(blockNumber);
        if (found !== undefined) return found === hash;
        if (blockNumber - height <= LAG_MAX_BLOCKS) return false;
      } catch (error) {
        if (!(error instanceof ChainUnavailableError)) throw error;
      }
    }
    return true;
  }
}

async function receiptOf(view: ChainView, hash: Hex): Promise<Receipt | undefined> {
  return readReceipt(await view.read('eth_getTransactionReceipt', [hash]));
}

function inclusionOf(tracked: TrackedAttempt, receipt: Receipt): Inclusion {
  const { hash, blockNumber, blockHash, isSuccess, gasUsed, effectiveGasPrice, logs } = receipt;
  return {
    transaction: hash,
    blockNumber,
    blockHash,
    isSuccess,
    gasUsed,
    effectiveGasPrice,
    credited: isSuccess ? creditLogs(tracked.items, logs) : new Map(),
  };
}
