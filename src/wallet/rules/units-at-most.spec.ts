import { describe, expect, it } from '@jest/globals';
import { unitsAtMost } from './units-at-most.js';

describe('a limit in whole tokens', () => {
  it.each([
    ['0.10', 6, 100_000n],
    ['0.005', 2, 0n],
    ['0.5', 0, 0n],
    ['1.999999999999999999', 6, 1_999_999n],
    ['0.000000000000000001', 18, 1n],
    ['7', 18, 7n * 10n ** 18n],
  ])('of %s with %d decimals is %d atomic units', (text, decimals, units) => {
    expect(unitsAtMost(text, decimals)).toBe(units);
  });
});
