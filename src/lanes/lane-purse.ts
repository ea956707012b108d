import type { Address } from 'viem';
import { readQuantity } from '../chain/block.js';
import type { EvmChain } from '../chain/evm-chain.js';
import { newestTransactionOf } from '../core/settlement/attempt.js';
import type { TrackedAttempt } from './tracked-attempt.js';

const READ_INTERVAL_MS = 2000;

/** The gas money of one signer. */
export class LanePurse {
  #balanceWei: bigint | undefined;
  #readAt = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly chain: EvmChain,
    private readonly signer: Address,
  ) {}

  get balanceWei(): bigint {
    return this.#balanceWei ?? 0n;
  }

  /** @throws ChainUnavailableError */
  async refresh(): Promise<void> {
    if (performance.now() - this.#readAt < READ_INTERVAL_MS) return;
    const balance = await this.chain.withView((view) =>
      view.read('eth_getBalance', [this.signer, 'latest']),
    );
    this.#balanceWei = readQuantity(balance) ?? 0n;
    this.#readAt = performance.now();
  }

  /**
   * How many settlements the money pays for, after what is in flight has cost all it may. Unknown
   * counts as none.
   *
   * @param costWei - what one settlement costs at the price of now.
   */
  settlementsLeft(inFlight: Iterable<TrackedAttempt>, costWei: bigint): number {
    if (this.#balanceWei === undefined) return 0;
    let free = this.#balanceWei;
    for (const { attempt } of inFlight) {
      const { gas, maxFeePerGas } = newestTransactionOf(attempt);
      free -= gas * maxFeePerGas;
    }
    if (free <= 0n) return 0;
    return costWei === 0n ? Number.MAX_SAFE_INTEGER : Number(free / costWei);
  }
}
