import { describe, expect, it } from '@jest/globals';
import { readArguments } from './command-line.js';

describe('arguments of a bench', () => {
  const read = (...args: string[]) => readArguments(3, { rows: 1000, pace: 5 }, args);

  it('are what the bench says where they are not given', () => {
    expect(read()).toMatchObject({ rounds: 3, sizes: { rows: 1000, pace: 5 }, positional: [] });
  });

  it('are what is given', () => {
    const given = read('30', '--rows', '50000', '--rounds=1', '--seed', 'abc');
    expect(given).toMatchObject({ rounds: 1, seed: 'abc', positional: ['30'] });
    expect(given.sizes).toEqual({ rows: 50_000, pace: 5 });
  });

  it('are texts as often as they are given', () => {
    const both = ['--beside', 'a=b c', '--beside=d=http://e'];
    expect(readArguments(3, { load: 0 }, both, ['beside'])).toMatchObject({
      sizes: { load: 0 },
      texts: { beside: ['a=b c', 'd=http://e'] },
    });
    expect(readArguments(3, {}, [], ['beside']).texts).toEqual({ beside: [] });
  });

  it.each([
    ['--rows', '0'],
    ['--rows', 'many'],
    ['--rounds', '1.5'],
    ['--columns', '3'],
  ])('are refused: %s %s', (...args) => {
    expect(() => read(...args)).toThrow(/--(rows|rounds|columns)/);
  });
});
