import { describe, expect, it } from '@jest/globals';
import { readInFlight } from './redis-settlement-store.js';

describe('what a payer has on its way', () => {
  it.each([
    ['of nobody', [], { balanceNeeded: 0n, allowanceNeeded: 0n, hasSponsoredPermit: false }],
    ['without its own', ['30', '20', '0', ''], { balanceNeeded: 30n, allowanceNeeded: 20n }],
    [
      'but its own EIP-3009',
      ['30', '20', '0', 'e:10'],
      { balanceNeeded: 20n, allowanceNeeded: 20n },
    ],
    [
      'but its own Permit2',
      ['30', '20', '0', 'p:10'],
      { balanceNeeded: 20n, allowanceNeeded: 10n },
    ],
    [
      'but its own permit',
      ['30', '20', '1', 's:10'],
      { balanceNeeded: 20n, allowanceNeeded: 20n, hasSponsoredPermit: false },
    ],
    ['with a permit of another', ['30', '20', '2', 's:10'], { hasSponsoredPermit: true }],
    ['with a permit, itself none', ['30', '0', '1', 'e:10'], { hasSponsoredPermit: true }],
    ['more than a number holds', [(2n ** 200n).toString()], { balanceNeeded: 2n ** 200n }],
  ])('%s', (_, totals, expected) => {
    expect(readInFlight(totals)).toMatchObject(expected);
  });
});
