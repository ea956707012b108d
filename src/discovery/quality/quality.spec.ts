import { describe, expect, it } from '@jest/globals';
import type { Address } from 'viem';
import { NOON } from '../../../test/builders/discovery/catalogue-update.js';
import { type Call, PAYERS_MAX, qualityOf, thousandths } from './quality.js';

const DAY_MS = 86_400_000;
const payer = (n: number): Address => `0x${n.toString(16).padStart(40, '0')}`;
const KNOWN = [901, 902, 903, 904, 905, 906].map(payer);
const PAYEE = payer(999);

/** One purchase each of so many last days. */
const callsOf = (n: number, days = 1, more: Partial<Call> = {}): readonly Call[] =>
  Array.from({ length: days }, (_, day) => ({
    payer: payer(n),
    isPaid: true,
    claimedAt: new Date(NOON - day * DAY_MS),
    includedAt: new Date(NOON - day * DAY_MS),
    ...more,
  }));
const range = (from: number, count: number): readonly number[] =>
  Array.from({ length: count }, (_, n) => from + n);
const score = (
  calls: readonly Call[],
  witnesses: readonly (readonly [Address, readonly Address[]])[] = [],
  circle: readonly Address[] = [],
): number => qualityOf(calls, new Set([PAYEE, ...circle]), new Map(witnesses), NOON).score;

describe('quality', () => {
  it('of nothing is nothing', () => {
    expect(qualityOf([], new Set(), new Map(), NOON)).toEqual({
      l30DaysTotalCalls: 0,
      l30DaysUniquePayers: 0,
      l30DaysRepeatPayers: 0,
      l30DaysExcludedCalls: 0,
      score: 0,
    });
  });

  it('is higher for a known buyer than for an unknown one, and for one that returns on other days', () => {
    const known = [[payer(1), [PAYEE]]] as const;
    expect(score(callsOf(1))).toBe(0.5);
    expect(score(callsOf(1), known)).toBe(1);
    expect(score([...callsOf(1), ...callsOf(1), ...callsOf(1)], known)).toBe(1);
    expect(score(callsOf(1, 2), known)).toBeCloseTo(4 / 3);
    expect(score(callsOf(1, 8), known)).toBe(2);
    expect(score(callsOf(1, 29), known)).toBe(2);
  });

  it('of a ring of 32 wallets stays below a handful of buyers that return', () => {
    const ring = range(100, 32).flatMap((n) => callsOf(n, 30));
    const honest = range(1, 5).flatMap((n) => callsOf(n, 2));
    const apart = range(1, 5).map((n) => [payer(n), [KNOWN[n] ?? PAYEE]] as const);
    expect(score(ring)).toBeLessThan(2);
    expect(score(honest, apart)).toBeCloseTo(20 / 3);
    // Even where all of the handful are known by the same payee.
    const alike = range(1, 5).map((n) => [payer(n), KNOWN.slice(0, 1)] as const);
    expect(score(honest, alike)).toBeGreaterThan(score(ring));
    // And where the ring is ten thousand wallets.
    expect(score(range(1000, 10_000).flatMap((n) => callsOf(n)))).toBeLessThanOrEqual(1);
  });

  it('counts wallets that are known alike once and a little', () => {
    const ring = range(100, 32);
    const calls = ring.flatMap((n) => callsOf(n));
    const same = ring.map((n) => [payer(n), KNOWN] as const);
    expect(score(calls, same)).toBeLessThanOrEqual(2);
    // Each wallet from others of the payees, which they have in common by pairs.
    const chained = ring.map(
      (n) => [payer(n), [n, n + 1].map((at) => KNOWN[at % 6] ?? PAYEE)] as const,
    );
    expect(score(calls, chained)).toBeLessThanOrEqual(2);
  });

  it('counts none of the circle, in no number but its own', () => {
    const ring = range(100, 32);
    const inRing = ring.map(payer);
    const calls = [
      ...ring.flatMap((n) => callsOf(n, 3)),
      ...ring.flatMap((n) => callsOf(n, 3, { isPaid: false })),
    ];
    expect(score(calls, [], inRing)).toBe(0);
    expect(qualityOf(calls, new Set(inRing), new Map(), NOON)).toEqual({
      l30DaysTotalCalls: 0,
      l30DaysUniquePayers: 0,
      l30DaysRepeatPayers: 0,
      l30DaysExcludedCalls: 96,
      score: 0,
    });
  });

  it('says how often and how fast it is settled, and lets neither move the score', () => {
    const slow = callsOf(1, 1, { includedAt: new Date(NOON + 9000) });
    const failed = callsOf(2, 9, { isPaid: false, includedAt: undefined });
    const calls = [...slow, ...callsOf(3), ...callsOf(4), ...failed];
    const quality = qualityOf(calls, new Set(), new Map(), NOON);
    expect(quality).toMatchObject({ l30DaysSuccessRate: 0.25, l30DaysMedianSettleMs: 0 });
    expect(quality.score).toBe(score([...callsOf(1), ...callsOf(3), ...callsOf(4)]));
  });

  it('is halved by ten days without a payment that counts', () => {
    const old = callsOf(1).map((call) => ({
      ...call,
      claimedAt: new Date(NOON - 10 * DAY_MS),
      includedAt: undefined,
    }));
    expect(score(old)).toBe(0.25);
    expect(score([...old, ...callsOf(2)], [], [payer(2)])).toBe(0.25);
    // Clocks differ: what is paid later than now is paid now.
    expect(score(callsOf(1, 1, { includedAt: new Date(NOON + DAY_MS) }))).toBe(0.5);
  });

  it('has an end', () => {
    const many = range(1, 10_000);
    const apart = many.map((n) => [payer(n), [payer(n + 20_000)]] as const);
    const most = score(
      many.flatMap((n) => callsOf(n)),
      apart,
    );
    expect([most, thousandths(most)]).toEqual([PAYERS_MAX, 1000 * PAYERS_MAX]);
  });
});
