import { describe, expect, it } from '@jest/globals';
import { readPolicy } from './policy.js';

const asset = (at: number): string => `eip155:56/0x${at.toString(16).padStart(40, '0')}`;
const payee = (at: number): string => `0x${at.toString(16).padStart(40, '0')}`;
const limit = (at: number) => ({ asset: asset(at), perPayment: '1', budget: '10' });
const many = <T>(count: number, make: (at: number) => T): T[] =>
  Array.from({ length: count }, (_, at) => make(at));

describe('rules as an owner writes them', () => {
  const list = (at: number, payees: number, limits: number) => ({
    name: `list ${at}`,
    payees: many(payees, payee),
    limits: many(limits, limit),
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

describe('rules that were read, changed and sent back', () => {
  const amountOf = (atomic: string, decimal: string) => ({ atomic, decimal });
  const answered = {
    revision: 4,
    active: true,
    windowHours: 24,
    otherPayees: false,
    scopes: ['approve'],
    limits: [
      {
        asset: asset(1),
        symbol: 'SUSD',
        perPayment: amountOf('1500', '1.5'),
        budget: amountOf('9000', '9'),
        spent: amountOf('0', '0'),
        left: amountOf('9000', '9'),
      },
    ],
    payeeLists: [{ name: 'shops', payees: [payee(7)], limits: [] }],
    howToChange: 'The owner signs in.',
  };
  const read = (sent: unknown) => readPolicy(sent, 5, () => 3);
  const withLimit = (change: object) => ({
    ...answered,
    limits: [{ ...answered.limits[0], ...change }],
  });

  it('are taken as they are', () => {
    expect(read(answered)).toEqual({
      ok: true,
      policy: {
        revision: 5,
        active: true,
        windowHours: 24,
        otherPayees: false,
        scopes: ['approve'],
        limits: [{ asset: asset(1), perPayment: 1500n, budget: 9000n }],
        payeeLists: [{ name: 'shops', payees: [payee(7)], limits: [] }],
      },
    });
  });

  it('may have amounts of both forms', () => {
    expect(read(withLimit({ budget: '7' }))).toMatchObject({
      policy: { limits: [{ perPayment: 1500n, budget: 7n }] },
    });
  });

  it('may have amounts in whole tokens', () => {
    expect(
      read(withLimit({ perPayment: { decimal: '0.25' }, askAbove: { decimal: '0.1' } })),
    ).toMatchObject({ policy: { limits: [{ perPayment: 250n, budget: 9000n, askAbove: 100n }] } });
  });

  it.each([
    ['more decimals than the token has', { budget: { decimal: '0.0001' } }],
    ['no number', { budget: { decimal: '1e3' } }],
    ['an amount to ask above that is never reached', { askAbove: { decimal: '2' } }],
    ['the decimal alone changed', { perPayment: amountOf('1500', '15') }],
    ['atomic units alone changed', { budget: amountOf('90000', '9') }],
    ['another number of decimals', { budget: amountOf('9000', '0.9') }],
    ['no decimal', { budget: { atomic: '9000' } }],
    ['two forms of askAbove that differ', { askAbove: amountOf('100', '1') }],
    ['an askAbove above perPayment', { askAbove: '1501' }],
    ['a field that the answer does not have', { perDay: '1' }],
    ['an amount of another form', { budget: 9000 }],
  ])('are not guessed at: %s', (_what, change) => {
    expect(read(withLimit(change)).ok).toBe(false);
  });

  it('are shown both amounts where they differ', () => {
    expect(read(withLimit({ perPayment: amountOf('1500', '15') }))).toMatchObject({
      problem: expect.stringMatching(/perPayment .*atomic is 1\.5/) as unknown,
    });
  });
});
