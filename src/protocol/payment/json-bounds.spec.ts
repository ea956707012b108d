import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { isLightJson, isWithinBounds, parseWithinBounds } from './json-bounds.js';

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

const HEAVY: [string, string][] = [
  ['levels', `${'['.repeat(10_000)}${']'.repeat(10_000)}`],
  ['lists', `[${'[],'.repeat(20_000)}[]]`],
  ['objects', `[${'{},'.repeat(20_000)}{}]`],
  ['names', `{${Array.from({ length: 20_001 }, (_, at) => `"${at}":1`).join(',')}}`],
];

describe('a JSON text from outside', () => {
  afterEach(() => {
    jest.restoreAllMocks();
  });

  it.each(HEAVY)('of too many %s is not parsed', (_, text) => {
    const parsed = jest.spyOn(JSON, 'parse');
    expect(isLightJson(text)).toBe(false);
    expect(isLightJson(Buffer.from(text))).toBe(false);
    expect(parseWithinBounds(text, { maxDepth: 1e6, maxValues: 1e6 })).toBeUndefined();
    expect(parsed.mock.calls.length).toBe(0);
  });

  it('is its value within the limits', () => {
    expect(parseWithinBounds('{"a":[1,2]}', bounds)).toEqual({ a: [1, 2] });
    const long = JSON.stringify(['[{"a":'.repeat(30_000), 'ü\\"'.repeat(10_000)]);
    expect(parseWithinBounds(long, bounds)).toEqual(JSON.parse(long));
  });

  it.each(['', '{', '[[[]]]', '[1,2,3,4,5]'])('is nothing for %j', (text) => {
    expect(parseWithinBounds(text, bounds)).toBeUndefined();
  });
});
