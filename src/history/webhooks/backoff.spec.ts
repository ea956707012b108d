import { describe, expect, it } from '@jest/globals';
import { ATTEMPTS_MAX, pauseAfter } from './deliverer.js';

const pauses = (random: number): number[] =>
  Array.from({ length: ATTEMPTS_MAX - 1 }, (_, index) => pauseAfter(index + 1, random) ?? NaN);
const HOUR_MS = 3_600_000;

describe('the pauses between attempts', () => {
  it('grow, and end after three days', () => {
    expect(pauses(0).slice(0, 5)).toEqual([5000, 30_000, 120_000, 600_000, 1_800_000]);
    expect(pauses(0)).toEqual([...pauses(0)].sort((a, b) => a - b));
    expect(pauseAfter(ATTEMPTS_MAX, 0)).toBeUndefined();
    const hours = pauses(0).reduce((sum, ms) => sum + ms, 0) / HOUR_MS;
    expect(hours).toBeGreaterThan(71);
    expect(hours).toBeLessThan(73);
  });

  it('are up to a tenth longer', () => {
    expect(pauseAfter(1, 0.999)).toBe(5500);
    expect(pauses(0.5).every((ms, index) => ms === (pauses(0)[index] ?? 0) * 1.05)).toBe(true);
  });
});
