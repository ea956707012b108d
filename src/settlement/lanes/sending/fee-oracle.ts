import type { Hex } from 'viem';
import type { ChainView } from '../../../platform/chain/chain-view.js';
import {
  type EndpointHealth,
  isPresent,
  leastTipOf,
  namedTipOf,
} from '../../../platform/chain/endpoint-health.js';
import type { EvmChain } from '../../../platform/chain/evm-chain.js';
import type { Head } from '../../../platform/chain/head-watcher.js';
import { ChainUnavailableError } from '../../../protocol/errors.js';
import {
  type FeeMarket,
  feesFor,
  leastTipToOffer,
  leastTipUrged,
  maxOf,
  type UrgentMarket,
} from '../../model/gas-price.js';

/** A suggested tip is read again after this many milliseconds, at a new head. */
const TIP_FRESH_MS = 2000;
/** Until then, or if it cannot be read, the previous one is used for this long. */
const TIP_KEPT_MS = 10_000;
const TIP_TIMEOUT_MS = 1000;
/** How long a mined tip is a witness against a higher one. */
const MINED_KEPT_MS = 300_000;

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
  /** Another endpoint's base fee for a block whose first answer would have stopped the lanes. */
  #asked: { readonly hash: Hex; readonly lowest: bigint } | undefined;
  /** Mined tips, wei, each lower than those after it, and when: the last one and the lowest since any time. */
  #mined: readonly { readonly tip: bigint; readonly at: number }[] = [];

  constructor(private readonly chain: EvmChain) {}

  noteMined(tip: bigint): void {
    const at = performance.now();
    const lower = this.#mined.filter((one) => one.tip < tip && at - one.at <= MINED_KEPT_MS);
    this.#mined = [...lower, { tip, at }];
  }

  /** @throws ChainUnavailableError when no tip is known and no endpoint answers. */
  async market(head: Head): Promise<FeeMarket> {
    const baseFeePerGas = head.latest.baseFeePerGas ?? 0n;
    const market = await this.#marketAt(baseFeePerGas, head);
    if (baseFeePerGas === 0n || feesFor(market) !== undefined) return market;
    // This base fee would stop the lanes, and one endpoint alone must not stop them.
    return this.#marketAt(await this.#lowerBaseFee(head, baseFeePerGas), head);
  }

  /**
   * For a transaction whose price did not suffice: the believed endpoint may be too low. The highest base fee and the
   * higher of two tips may be wrong, so the values on which two endpoints agree are separate. A base fee above the cap
   * is not believed here.
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
    const leastTip = leastTipUrged(this.#leastTips(), highest.cap - most);
    return {
      agreed: await this.#marketAt(second, head),
      highest: { ...highest, suggestedTip: high, leastTip },
    };
  }

  /** The lowest base fee of any endpoint for the block of that number, or for its newest one. */
  async #lowerBaseFee({ view, latest }: Head, own: bigint): Promise<bigint> {
    if (this.#asked?.hash !== latest.hash) {
      const elsewhere = await this.chain.newestElsewhere(view, latest);
      const fees = elsewhere.map(({ baseFeePerGas = 0n }) => baseFeePerGas);
      const lowest = fees.reduce((least, fee) => (fee < least ? fee : least), own);
      // An endpoint that does not have the block yet is asked again.
      if (elsewhere.every(({ number }) => number !== latest.number)) return lowest;
      this.#asked = { hash: latest.hash, lowest };
    }
    return this.#asked.lowest;
  }

  async #marketAt(baseFeePerGas: bigint, head: Head): Promise<FeeMarket> {
    const cap = this.chain.config.maxGasPriceWei;
    const { low } = await this.#suggestedTips(head);
    const named = this.#serving.map(namedTipOf).reduce(maxOf, 0n);
    const shown = { named, mined: this.#lowestMined };
    return {
      baseFeePerGas,
      suggestedTip: low,
      leastTip: leastTipToOffer(this.#leastTips(), low, cap - baseFeePerGas, shown),
      cap,
    };
  }

  /** A replacement that offers twice as much is mined, too: the last tip alone would rise with each. */
  get #lowestMined(): bigint {
    const since = performance.now() - MINED_KEPT_MS;
    const lowest = this.#mined.find(({ at }) => at >= since) ?? this.#mined.at(-1);
    return lowest?.tip ?? this.chain.config.leastTipWei ?? 0n;
  }

  /** The least tips of endpoints that take transactions now; an unreachable endpoint's old tip must not count. */
  #leastTips(): readonly bigint[] {
    return this.#serving.map(leastTipOf);
  }

  get #serving(): readonly EndpointHealth[] {
    const serving = this.chain.endpoints.filter(({ isRightChain }) => isRightChain !== false);
    const present = serving.filter(isPresent);
    return present.length > 0 ? present : serving;
  }

  /** Read in the background, so that a slow endpoint does not delay the lanes. */
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

  /** Asks two endpoints, because one of them may be far off. */
  async #askForTips(head: Head): Promise<Tips> {
    const at = performance.now();
    const views = this.chain.views().slice(0, 2);
    const answers = await Promise.all(
      views.map((view) => tipOf(view.within(TIP_TIMEOUT_MS), head)),
    );
    const [first, second = first] = answers.filter((tip) => tip !== undefined);
    if (first === undefined || second === undefined) {
      throw new ChainUnavailableError(this.chain.chainId, 'priority fee');
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

/** A node without its own tip still returns a total gas price. */
async function askTip(view: ChainView, { latest }: Head): Promise<bigint> {
  const tip = await view.suggestedTip();
  if (tip !== undefined) return tip;
  const price = await view.gasPrice();
  const baseFee = latest.baseFeePerGas ?? 0n;
  return price > baseFee ? price - baseFee : 0n;
}
