import type { Address } from 'viem';

/** Whom a treasury refills, when, and up to what. */
export interface RefillRules {
  /** Its lanes, by settings alone. Lower case. */
  readonly lanes: ReadonlySet<Address>;
  /** Settlements: a lane that pays for fewer is refilled, so that it pays for `refillTo`; see {@link lowLanes}. */
  readonly refillBelow: number;
  readonly refillTo: number;
  /** Wei a day (UTC), gas included. */
  readonly dailyCapWei: bigint;
}

/** The last status of a lane, as far as it counts for a refill. */
export interface LaneLevel {
  readonly chainId: number;
  readonly signer: string;
  readonly settlementsLeft: number;
  /** `0` while it has not asked yet for its balance and for what gas costs. */
  readonly gasPriceWei: string;
  readonly isRetiring?: boolean;
  /** Something costs more than it has. */
  readonly isShort?: boolean;
  /** Milliseconds since it said so. */
  readonly silentMs: number;
}

/** A lane that is silent for longer is not refilled: no process sends with it. */
const SILENT_MS = 5000;

/** A lane that says that it is short. */
interface LowLane {
  readonly address: Address;
  /** Settlements: it is short where the chain shows that it pays for fewer. */
  readonly mark: number;
}

/**
 * The lanes that can pay for too few settlements, the emptiest first. Their reports come from the ledger, so they only
 * decide which configured lane is looked at: an address that settings do not name is ignored.
 */
export function lowLanes(
  chainId: number,
  levels: readonly LaneLevel[],
  rules: Pick<RefillRules, 'lanes' | 'refillBelow' | 'refillTo'>,
): readonly LowLane[] {
  const low = levels.filter(
    (one) =>
      one.chainId === chainId &&
      one.silentMs <= SILENT_MS &&
      one.isRetiring !== true &&
      one.gasPriceWei !== '0' &&
      one.settlementsLeft < markOf(one, rules),
  );
  const marks = new Map<Address, number>();
  for (const one of [...low].sort((a, b) => a.settlementsLeft - b.settlementsLeft)) {
    const signer = one.signer.toLowerCase() as Address;
    if (rules.lanes.has(signer))
      marks.set(signer, Math.max(markOf(one, rules), marks.get(signer) ?? 0));
  }
  return [...marks].map(([address, mark]) => ({ address, mark }));
}

/**
 * A lane that is short has something to send that costs more than it has, though it would pay for enough typical
 * settlements. Half of the way up it is refilled, so that no refill is of less than the other half.
 */
function markOf(
  { isShort = false }: Pick<LaneLevel, 'isShort'>,
  { refillBelow, refillTo }: Pick<RefillRules, 'refillBelow' | 'refillTo'>,
): number {
  return isShort ? Math.ceil((refillBelow + refillTo) / 2) : refillBelow;
}

/**
 * Wei that bring a lane up to so many settlements; `undefined` where the chain shows that it is not short of them: what
 * a lane says is a moment old, and the price of gas goes up and down. The balance is the chain's and the price is ours,
 * so that nothing of the amount comes from the ledger.
 */
export function refillFor(
  balanceWei: bigint,
  settlementWei: bigint,
  mark: number,
  { refillTo }: Pick<RefillRules, 'refillTo'>,
): bigint | undefined {
  if (balanceWei >= settlementWei * BigInt(mark)) return undefined;
  return settlementWei * BigInt(refillTo) - balanceWei;
}

/** The last refill of a treasury, for people. */
export interface LastRefill {
  /** The lane's account. */
  readonly to: string;
  /** Decimal. */
  readonly valueWei: string;
  /** The account nonce of the treasury's transfer. */
  readonly accountNonce: number;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/** The status of a treasury, beside that of every lane. Wei, decimal. */
export interface TreasuryStatus {
  readonly dailyCapWei: string;
  /** Wei that the treasury reserved or spent since 0:00 UTC, with gas. */
  readonly spentTodayWei: string;
  readonly lastRefill?: LastRefill;
}
