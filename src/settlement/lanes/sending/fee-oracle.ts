import type { Hex } from 'viem';
import type { ChainView } from '../../../platform/chain/chain-view.js';
import { leastTipOf } from '../../../platform/chain/endpoint-health.js';
import type { EvmChain } from '../../../platform/chain/evm-chain.js';
import type { Head } from '../../../platform/chain/head-watcher.js';
import { ChainUnavailableError } from '../../../protocol/errors.js';
import {
  type FeeMarket,
  feesFor,
  leastTipToOffer,
  type UrgentMarket,
} from '../../model/gas-price.js';

/** A suggested tip is asked for again after this many milliseconds, at a new head. */
const TIP_FRESH_MS = 2000;
/** Meanwhile, or where it cannot be asked for, the one before serves this long. */
const TIP_KEPT_MS = 10_000;
const TIP_TIMEOUT_MS = 1000;

/** Wei, and when they were asked for. */
interface Tips {
  readonly low: bigint;
  readonly high: bigint;
  readonly at: number;
}

/** The present price of gas on one chain. */
export class FeeOracle {
  #tips: Tips | undefined;
  #asking: Promise<Tips> | undefined;
  /** Other endpoints' base fee of a block whose first answer would have stopped the lanes. */
  #asked: { readonly hash: Hex; readonly lowest: bigint } | undefined;

  constructor(private readonly chain: EvmChain) {}

  /** @throws ChainUnavailableError when no tip is known and none can be asked for. */
  async market(head: Head): Promise<FeeMarket> {
    const baseFeePerGas = head.latest.baseFeePerGas ?? 0n;
    const market = await this.#marketAt(baseFeePerGas, head);
    if (baseFeePerGas === 0n || feesFor(market) !== undefined) return market;
    // It would stop the lanes: one endpoint's word is not enough for that.
    return this.#marketAt(await this.#lowerBaseFee(head, baseFeePerGas), head);
  }

  /**
   * For what its price did not bring into a block: the endpoint that was believed may be too low. The highest base fee
   * and the higher of two tips may be a lie, so what two endpoints reach is named apart. A base fee above the cap is not
   * believed here.
   *
   * @throws ChainUnavailableError when no tip is known and none can be asked for.
   */
  async urgentMarket(head: Head): Promise<Required<UrgentMarket>> {
    const { view, latest } = head;
    const blocks = [latest, ...(await this.chain.newestElsewhere(view, latest))];
    const [most = 0n, second = most] = blocks
      .map(({ baseFeePerGas = 0n }) => baseFeePerGas)
      .filter((fee) => fee < this.chain.config.maxGasPriceWei)
      .sort((a, b) => Number(b - a));
    const highest = await this.#marketAt(most, head);
    const { high } = await this.#suggestedTips(head);
    return {
      agreed: await this.#marketAt(second, head),
      highest: { ...highest, suggestedTip: high },
    };
  }

  /** The lowest base fee that any endpoint has for the block of that number, or for its newest one. */
  async #lowerBaseFee({ view, latest }: Head, own: bigint): Promise<bigint> {
    if (this.#asked?.hash !== latest.hash) {
      const elsewhere = await this.chain.newestElsewhere(view, latest);
      const fees = elsewhere.map(({ baseFeePerGas = 0n }) => baseFeePerGas);
      const lowest = fees.reduce((least, fee) => (fee < least ? fee : least), own);
      // One that does not have the block yet is asked again.
      if (elsewhere.every(({ number }) => number !== latest.number)) return lowest;
      this.#asked = { hash: latest.hash, lowest };
    }
    return this.#asked.lowest;
  }

  async #marketAt(baseFeePerGas: bigint, head: Head): Promise<FeeMarket> {
    const cap = this.chain.config.maxGasPriceWei;
    const learned = this.chain.endpoints
      .filter(({ isRightChain }) => isRightChain !== false)
      .map(leastTipOf);
    const { low } = await this.#suggestedTips(head);
    return {
      baseFeePerGas,
      suggestedTip: low,
      leastTip: leastTipToOffer(learned, cap - baseFeePerGas),
      cap,
    };
  }

  /** Asked for again beside the lanes: an endpoint that takes its time must not hold them up. */
  async #suggestedTips(head: Head): Promise<Tips> {
    const known = this.#tips;
    const age = performance.now() - (known?.at ?? Number.NEGATIVE_INFINITY);
    if (known !== undefined && age <= TIP_FRESH_MS) return known;
    this.#asking ??= this.#askForTips(head).finally(() => {
      this.#asking = undefined;
    });
    if (known === undefined || age > TIP_KEPT_MS) return this.#asking;
    // An error reaches only the callers that wait for it, once the known fees are too old.
    this.#asking.catch(() => undefined);
    return known;
  }

  /** Of two endpoints: one of them may be far off. */
  async #askForTips(head: Head): Promise<Tips> {
    const at = performance.now();
    const views = this.chain.views().slice(0, 2);
    const answers = await Promise.all(
      views.map((view) => tipOf(view.within(TIP_TIMEOUT_MS), head)),
    );
    const [first, second = first] = answers.filter((tip) => tip !== undefined);
    if (first === undefined || second === undefined) {
      throw new ChainUnavailableError(this.chain.chainId, 'a tip');
    }
    const [low, high] = first < second ? [first, second] : [second, first];
    this.#tips = { low, high, at };
    return this.#tips;
  }
}

async function tipOf(view: ChainView, head: Head): Promise<bigint | undefined> {
  try {
    return await askTip(view, head);
  } catch (error) {
    if (!(error instanceof ChainUnavailableError)) throw error;
    return undefined;
  }
}

/** Nodes without a tip of their own still say what gas costs altogether. */
async function askTip(view: ChainView, { latest }: Head): Promise<bigint> {
  const tip = await view.suggestedTip();
  if (tip !== undefined) return tip;
  const price = await view.gasPrice();
  const baseFee = latest.baseFeePerGas ?? 0n;
  return price > baseFee ? price - baseFee : 0n;
}
