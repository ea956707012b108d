import type { Address } from 'viem';

const DAY_MS = 86_400_000;
/** The window of the rating. */
export const WINDOW_MS = 30 * DAY_MS;
/** Maximum of payers whose other purchases are read. */
export const PAYERS_MAX = 200;
/** Days with purchases above this number add nothing. */
const DAYS_MAX = 8;
/** Without a counted payment for this long, a score is halved. */
const HALF_LIFE_MS = 10 * DAY_MS;
/** The worth of a payer that is known only by purchases from this entry's payee. */
const UNKNOWN_PAYER = 0.5;

/** An ended settlement that declared an entry. */
export interface Call {
  readonly payer: Address;
  readonly isPaid: boolean;
  readonly claimedAt: Date;
  /** For paid calls only. */
  readonly includedAt: Date | undefined;
}

/** Payers that may be the payee itself: its own address, and accounts it paid. */
export type Circle = ReadonlySet<Address>;

/** The other payees a payer has bought from, as far as others buy from them too. */
export type OtherPayees = ReadonlyMap<Address, readonly Address[]>;

/** The public figures of an entry, with the names of other catalogues where they have one. */
export interface Quality {
  readonly l30DaysTotalCalls: number;
  readonly l30DaysUniquePayers: number;
  /** Payers that bought on two days or more. */
  readonly l30DaysRepeatPayers: number;
  /** Paid calls of the circle, which are in none of the other numbers. */
  readonly l30DaysExcludedCalls: number;
  /** Paid calls divided by paid and failed ones; missing without any. */
  readonly l30DaysSuccessRate?: number;
  /** From the claim to the block. */
  readonly l30DaysMedianSettleMs?: number;
  readonly lastCalledAt?: string;
  readonly score: number;
}

interface Payer {
  readonly address: Address;
  readonly days: number;
}

/** Payers that count, those with purchases on most days first. */
export function payersOf(calls: readonly Call[], circle: Circle): readonly Payer[] {
  const days = new Map<Address, Set<number>>();
  for (const { payer, isPaid, claimedAt } of calls) {
    if (!isPaid || circle.has(payer)) continue;
    const known = days.get(payer) ?? new Set();
    days.set(payer, known.add(Math.floor(claimedAt.getTime() / DAY_MS)));
  }
  return [...days]
    .map(([address, on]) => ({ address, days: on.size }))
    .sort((a, b) => b.days - a.days || (a.address < b.address ? -1 : 1));
}

/**
 * The rating of an entry by its payments. `docs/discovery.md` has the formula.
 *
 * @param calls - within {@link WINDOW_MS} of now.
 */
export function qualityOf(
  calls: readonly Call[],
  circle: Circle,
  witnesses: OtherPayees,
  now: number,
): Quality {
  const counted = calls.filter(({ payer }) => !circle.has(payer));
  const paid = counted.filter(({ isPaid }) => isPaid);
  const payers = payersOf(counted, circle);
  const last = paid.reduce((latest, call) => Math.max(latest, timeOf(call)), -Infinity);
  const median = medianOf(
    paid.flatMap(({ claimedAt, includedAt }) =>
      includedAt === undefined ? [] : [Math.max(0, includedAt.getTime() - claimedAt.getTime())],
    ),
  );
  return {
    l30DaysTotalCalls: paid.length,
    l30DaysUniquePayers: payers.length,
    l30DaysRepeatPayers: payers.filter(({ days }) => days > 1).length,
    l30DaysExcludedCalls: calls.filter(({ isPaid, payer }) => isPaid && circle.has(payer)).length,
    ...(counted.length > 0 && {
      l30DaysSuccessRate: Math.round((1000 * paid.length) / counted.length) / 1000,
    }),
    ...(median !== undefined && { l30DaysMedianSettleMs: median }),
    ...(paid.length > 0 && { lastCalledAt: new Date(last).toISOString() }),
    score: paid.length === 0 ? 0 : worthOf(payers, witnesses) * freshness(now - last),
  };
}

/** Scores are stored and compared in whole thousandths. */
export const thousandths = (score: number): number => Math.round(1000 * score);

const timeOf = ({ includedAt, claimedAt }: Call): number => (includedAt ?? claimedAt).getTime();

const freshness = (ageMs: number): number => 2 ** (-Math.max(0, ageMs) / HALF_LIFE_MS);

/**
 * Payers that share another payee may be one person with many addresses, and so may payers known by nothing else. In
 * such a group each further payer counts half of the previous one.
 */
function worthOf(payers: readonly Payer[], witnesses: OtherPayees): number {
  const scored = payers.slice(0, PAYERS_MAX);
  const groupOf = grouped(scored, witnesses);
  const sizes = new Map<Address | undefined, number>();
  let worth = 0;
  // Payers with purchases on most days come first.
  for (const { address, days } of scored) {
    const group = groupOf(address);
    const before = sizes.get(group) ?? 0;
    sizes.set(group, before + 1);
    const known = group === undefined ? UNKNOWN_PAYER : 1;
    worth += known * (1 + Math.log2(Math.min(days, DAYS_MAX)) / 3) * 2 ** -before;
  }
  return worth;
}

/**
 * The group of a payer, named by one of its payees; `undefined` is the group of payers that are known by nothing else.
 */
function grouped(
  payers: readonly Payer[],
  witnesses: OtherPayees,
): (payer: Address) => Address | undefined {
  const joined = new Map<Address, Address>();
  const nameOf = (payee: Address): Address => {
    let name = payee;
    for (let next = joined.get(name); next !== undefined; next = joined.get(name)) name = next;
    return name;
  };
  for (const { address } of payers) {
    const [first, ...others] = witnesses.get(address) ?? [];
    if (first === undefined) continue;
    for (const other of others) {
      const [one, two] = [nameOf(first), nameOf(other)];
      if (one !== two) joined.set(two, one);
    }
  }
  return (payer) => {
    const [first] = witnesses.get(payer) ?? [];
    return first === undefined ? undefined : nameOf(first);
  };
}

function medianOf(values: readonly number[]): number | undefined {
  return [...values].sort((a, b) => a - b)[(values.length - 1) >> 1];
}
