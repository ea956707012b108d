import type { Address } from 'viem';

/** Whom a treasury refills, when, and up to what. */
export interface RefillRules {
  /** Its lanes, by settings alone. Lower case. */
  readonly lanes: ReadonlySet<Address>;
  /** Settlements: a lane that pays for fewer is refilled, so that it pays for `refillTo`. */
  readonly refillBelow: number;
  readonly refillTo: number;
  /** Wei a day (UTC), gas included. */
  readonly dailyCapWei: bigint;
}

/** What a lane last said of itself, as far as it counts for a refill. */
export interface LaneLevel {
  readonly chainId: number;
  readonly signer: string;
  readonly settlementsLeft: number;
  /** `0` while it has not asked yet for its balance and for what gas costs. */
  readonly gasPriceWei: string;
  readonly isRetiring?: boolean;
  /** Milliseconds since it said so. */
  readonly silentMs: number;
}

/** Who has been silent for longer than this is not refilled: nobody sends with it. */
const SILENT_MS = 5000;

/**
 * The lanes that pay for too few settlements, the emptiest first. What they say comes from the ledger, so that it only
 * decides which of the treasury's own lanes is looked at: an address that settings do not name is none.
 */
export function lowLanes(
  chainId: number,
  levels: readonly LaneLevel[],
  { lanes, refillBelow }: Pick<RefillRules, 'lanes' | 'refillBelow'>,
): readonly Address[] {
  const low = levels.filter(
    (one) =>
      one.chainId === chainId &&
      one.silentMs <= SILENT_MS &&
      one.isRetiring !== true &&
      one.gasPriceWei !== '0' &&
      one.settlementsLeft < refillBelow,
  );
  const signers = [...low]
    .sort((a, b) => a.settlementsLeft - b.settlementsLeft)
    .map(({ signer }) => signer.toLowerCase() as Address);
  return [...new Set(signers)].filter((signer) => lanes.has(signer));
}

/**
 * Wei that bring a lane up to so many settlements; `undefined` where the chain shows that it is not short of them: what
 * a lane says is a moment old, and the price of gas goes up and down. The balance is the chain's and the price is ours,
 * so that nothing of the amount comes from the ledger.
 */
export function refillFor(
  balanceWei: bigint,
  settlementWei: bigint,
  { refillBelow, refillTo }: Pick<RefillRules, 'refillBelow' | 'refillTo'>,
): bigint | undefined {
  if (balanceWei >= settlementWei * BigInt(refillBelow)) return undefined;
  return settlementWei * BigInt(refillTo) - balanceWei;
}

/** The last refill of a treasury, for people. */
export interface LastRefill {
  /** The lane's account. */
  readonly to: string;
  /** Decimal. */
  readonly valueWei: string;
  /** Of the treasury. */
  readonly accountNonce: number;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/** What a treasury says of itself beside what every lane says. Wei, decimal. */
export interface TreasuryStatus {
  readonly dailyCapWei: string;
  /** Reserved or spent since 0:00 UTC, gas included. */
  readonly spentTodayWei: string;
  readonly lastRefill?: LastRefill;
}
