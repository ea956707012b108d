import { describe, expect, it } from '@jest/globals';
import { isWithinBounds } from './json-bounds.js';

const bounds = { maxDepth: 2, maxValues: 5 };

describe('the bounds of a JSON value', () => {
  it.each([['text'], [null], [[]], [{ a: [1, 2] }], [[1, 2, 3, 4]]])('take %j', (value) => {
    expect(isWithinBounds(value, bounds)).toBe(true);
  });

  it.each([[[[[]]]], [{ a: { b: {} } }], [[1, 2, 3, 4, 5]], [{ a: [1, 2], b: [3] }]])(
    'do not take %j',
    (value) => {
      expect(isWithinBounds(value, bounds)).toBe(false);
    },
  );

  it('hold for a million levels and a million values', () => {
    const deep: unknown = JSON.parse('['.repeat(1e6) + ']'.repeat(1e6));
    expect(isWithinBounds(deep, { maxDepth: 100, maxValues: 1e9 })).toBe(false);
    expect(isWithinBounds(deep, { maxDepth: 2e6, maxValues: 1e9 })).toBe(true);
    const wide = Array.from({ length: 1e6 }, () => 0);
    expect(isWithinBounds(wide, { maxDepth: 100, maxValues: 1000 })).toBe(false);
  });
});
