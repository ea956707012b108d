export const WEI_PER_GWEI = 1_000_000_000n;

/** Budgets are kept in gwei: what is spent is rounded up. */
export function gweiOf(wei: bigint): bigint {
  return (wei + WEI_PER_GWEI - 1n) / WEI_PER_GWEI;
}

/** The day of a budget, UTC. @param ms - since the epoch. */
export function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

/** The fees that a transaction offers for its gas, in wei (EIP-1559). */
export interface Fees {
  readonly maxFeePerGas: bigint;
  readonly maxPriorityFeePerGas: bigint;
}

export interface FeeMarket {
  /** The base fee of the newest block. Always 0 on BNB Chain (BEP-226), where the price is the tip alone. */
  readonly baseFeePerGas: bigint;
  /** The tip the nodes suggest. Of two it is the lower one, as one of them may be far off. */
  readonly suggestedTip: bigint;
  /** The least tip the endpoints take, as far as they have said and are believed. */
  readonly leastTip: bigint;
  /** `MAX_GAS_PRICE_GWEI`, in wei. */
  readonly cap: bigint;
}

/** The market for a transaction that its price did not bring into a block. */
export interface UrgentMarket {
  /**
   * The market that two endpoints agree on, or the only endpoint gives; absent where no value can
   * be believed at once.
   */
  readonly agreed?: FeeMarket;
  /** The highest that any endpoint says. */
  readonly highest: FeeMarket;
}

/**
 * Nodes take a transaction in place of another only for 10 % more. An eighth leaves room for rounding
 * and for clients that ask for 12.5 %.
 */
const BUMP_NUMERATOR = 9n;
const BUMP_DENOMINATOR = 8n;

/** The fees for a new transaction, or `undefined` when the market is above the cap. */
export function feesFor(market: FeeMarket): Fees | undefined {
  const { baseFeePerGas, cap } = market;
  const tip = maxOf(maxOf(market.suggestedTip, market.leastTip), 1n);
  // Room for the base fee to double: it rises by an eighth a block at most.
  const wanted = baseFeePerGas * 2n + tip;
  const maxFeePerGas = minOf(wanted, cap);
  if (maxFeePerGas < baseFeePerGas + market.leastTip || maxFeePerGas <= baseFeePerGas) {
    return undefined;
  }
  return { maxFeePerGas, maxPriorityFeePerGas: minOf(tip, maxFeePerGas) };
}

/** The price of a unit of gas in a block of this base fee, in wei (EIP-1559). */
export function effectivePrice(fees: Fees, baseFeePerGas: bigint): bigint {
  return minOf(fees.maxFeePerGas, baseFeePerGas + fees.maxPriorityFeePerGas);
}

/**
 * The fees to replace a transaction with: at least an eighth above what it offered, or the market where that is more.
 * What one endpoint alone says at most doubles the former offer. `undefined` when the cap leaves no room.
 */
export function bumpedFees(previous: Fees, { agreed, highest }: UrgentMarket): Fees | undefined {
  const [believed, alone] = [agreed && feesFor(agreed), feesFor(highest)];
  const over = (field: keyof Fees): bigint => {
    const limited = minOf(previous[field] * 2n, alone?.[field] ?? 0n);
    return maxOf(bump(previous[field]), maxOf(believed?.[field] ?? 0n, limited));
  };
  const tip = over('maxPriorityFeePerGas');
  const maxFee = maxOf(over('maxFeePerGas'), tip);
  return maxFee <= highest.cap ? { maxFeePerGas: maxFee, maxPriorityFeePerGas: tip } : undefined;
}

/** The only endpoint that can be asked has its price up to this multiple of the tip that is suggested. */
const LONE_FACTOR = 10n;

/**
 * The least tip to offer at first, given the least that each endpoint takes (0 for those that have not said): what two
 * endpoints reach, as one of them may name any. The only endpoint is believed up to {@link LONE_FACTOR} times the
 * suggestion. One is believed as well up to the tip that a block has shown to suffice. What an endpoint wants beyond
 * that is reached by replacements, see {@link leastTipUrged}. A price above what is paid is returned as it is: sent
 * below it nothing would be taken.
 *
 * @param suggested - wei; the tip that is suggested.
 * @param affordable - wei; the most that is paid for a tip.
 */
export function leastTipToOffer(
  leastTips: readonly bigint[],
  suggested: bigint,
  affordable: bigint,
  { named, mined }: ShownTip,
): bigint {
  const [most = 0n, second] = [...leastTips].sort((a, b) => (a < b ? 1 : a > b ? -1 : 0));
  if (second === undefined && most > affordable) return most;
  const shown = minOf(minOf(named, mined), affordable);
  return maxOf(second ?? minOf(most, suggested * LONE_FACTOR), shown);
}

/** Wei. An endpoint may take all and forward nothing: then no refusal of the others, nor its suggestion, says enough. */
interface ShownTip {
  /** The highest that any endpoint named lately. */
  readonly named: bigint;
  /** The lowest tip of the lanes that was mined lately; before there is one, the least that validators take. */
  readonly mined: bigint;
}

/**
 * The least tip for what its price did not bring into a block: what every endpoint takes whose price can be paid. Where
 * none can be paid it is the lowest of all.
 */
export function leastTipUrged(leastTips: readonly bigint[], affordable: bigint): bigint {
  const payable = leastTips.filter((tip) => tip <= affordable);
  return payable.length > 0
    ? payable.reduce(maxOf)
    : leastTips.reduce((least, tip) => minOf(least, tip), leastTips[0] ?? 0n);
}

function bump(wei: bigint): bigint {
  return (wei * BUMP_NUMERATOR) / BUMP_DENOMINATOR + 1n;
}

export function maxOf(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}

function minOf(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}
