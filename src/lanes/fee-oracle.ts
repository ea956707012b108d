import { readQuantity } from '../chain/block.js';
import type { EvmChain } from '../chain/evm-chain.js';
import type { Head } from '../chain/head-watcher.js';
import type { FeeMarket } from '../core/settlement/gas-price.js';

/** A suggested tip is asked for again after this many milliseconds, at a new head. */
const TIP_KEPT_MS = 2000;

/** What gas costs on one chain at the moment. */
export class FeeOracle {
  #tip = 0n;
  #askedAt = Number.NEGATIVE_INFINITY;

  constructor(private readonly chain: EvmChain) {}

  /** @throws ChainUnavailableError when no tip is known and none can be asked for. */
  async market(head: Head): Promise<FeeMarket> {
    const now = performance.now();
    if (now - this.#askedAt > TIP_KEPT_MS) {
      this.#tip = await this.#askForTip(head);
      this.#askedAt = now;
    }
    let leastTip = 0n;
    for (const { leastTipWei, isRightChain } of this.chain.endpoints) {
      if (isRightChain !== false && leastTipWei > leastTip) leastTip = leastTipWei;
    }
    return {
      baseFeePerGas: head.latest.baseFeePerGas ?? 0n,
      suggestedTip: this.#tip,
      leastTip,
      cap: this.chain.config.maxGasPriceWei,
    };
  }

  /** Nodes without `eth_maxPriorityFeePerGas` still say what gas costs altogether. */
  async #askForTip(head: Head): Promise<bigint> {
    return this.chain.withView(async (view) => {
      const { endpoint } = view.health;
      const answer = await endpoint.request('eth_maxPriorityFeePerGas', [], 2000);
      const tip = answer.kind === 'result' ? readQuantity(answer.value) : undefined;
      if (tip !== undefined) return tip;
      const price = readQuantity(await view.read('eth_gasPrice', [])) ?? 0n;
      const baseFee = head.latest.baseFeePerGas ?? 0n;
      return price > baseFee ? price - baseFee : 0n;
    });
  }
}
