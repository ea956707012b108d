import { describe, expect, it } from '@jest/globals';
import { readPolicy } from './policy.js';

const asset = (at: number): string => `eip155:56/0x${at.toString(16).padStart(40, '0')}`;
const payee = (at: number): string => `0x${at.toString(16).padStart(40, '0')}`;
const limit = (at: number) => ({ asset: asset(at), perPayment: '1', budget: '10' });
const many = <T>(count: number, make: (at: number) => T): T[] =>
  Array.from({ length: count }, (_, at) => make(at));

describe('rules as an owner writes them', () => {
  const list = (at: number, payees: number, limits: number) => ({
    ...{ name: `list ${at}`, payees: many(payees, payee), limits: many(limits, limit) },
  });

  it.each([
    ['twenty lists of a hundred payees', many(20, (at) => list(at, 100, 1)), true],
    ['one list of two hundred payees and ten limits', [list(0, 200, 10)], true],
    ['one list of two hundred payees and eleven limits', [list(0, 200, 11)], false],
    ['twenty lists of a hundred and one payees', many(20, (at) => list(at, 101, 1)), false],
    ['twenty-one lists', many(21, (at) => list(at, 1, 1)), false],
    ['lists without limits', many(20, (at) => list(at, 101, 0)), false],
  ])('may ask for a bounded number of sums: %s', (_what, payeeLists, isFine) => {
    expect(readPolicy({ limits: many(50, limit), payeeLists }, 1).ok).toBe(isFine);
  });
});
