import { describe, expect, it } from '@jest/globals';
import type { Hex } from 'viem';
import { anAcceptedPayment } from '../../../../test/builders/protocol/payment/accepted-payment.js';
import type { StoredInclusion } from '../../ledger/lane-store.js';
import {
  type Inclusion,
  type InclusionChanges,
  inclusionChanges,
} from '../state/tracked-attempt.js';

const TX: Hex = `0x${'01'.repeat(32)}`;
const OTHER_TX: Hex = `0x${'02'.repeat(32)}`;
const BLOCK: Hex = `0x${'0b'.repeat(32)}`;
const OTHER_BLOCK: Hex = `0x${'0c'.repeat(32)}`;

const stored = (more: Partial<StoredInclusion> = {}): StoredInclusion => ({
  transaction: TX,
  blockNumber: 7n,
  blockHash: BLOCK,
  logIndex: 3,
  ...more,
});

const inclusion = (credited: Record<string, number>, more: Partial<Inclusion> = {}): Inclusion => ({
  transaction: TX,
  blockNumber: 7n,
  blockHash: BLOCK,
  isSuccess: true,
  gasUsed: 1n,
  effectiveGasPrice: 1n,
  credited: new Map(Object.entries(credited)),
  ...more,
});

const nothing: InclusionChanges = { include: [], uninclude: [] };
const included: InclusionChanges = { include: [{ id: 'a', logIndex: 3 }], uninclude: [] };
const taken: InclusionChanges = { include: [], uninclude: ['a'] };

/** What the ledger says of one settlement, what the chain shows of its attempt, what has to be written. */
describe('inclusionChanges', () => {
  it.each<[string, StoredInclusion | undefined, Inclusion | undefined, InclusionChanges]>([
    ['nothing is known, nothing is seen', undefined, undefined, nothing],
    ['it is seen paid', undefined, inclusion({ a: 3 }), included],
    ['it is seen unpaid', undefined, inclusion({}), nothing],
    ['it is known and seen alike', stored(), inclusion({ a: 3 }), nothing],
    ['its block is gone', stored(), undefined, taken],
    ['another block has it', stored({ blockHash: OTHER_BLOCK }), inclusion({ a: 3 }), included],
    [
      'another transaction has it',
      stored({ transaction: OTHER_TX }),
      inclusion({ a: 3 }),
      included,
    ],
    ['another log of it counts', stored({ logIndex: 9 }), inclusion({ a: 3 }), included],
    ['the new block does not pay it', stored({ blockHash: OTHER_BLOCK }), inclusion({}), taken],
    ['the new block pays another', stored(), inclusion({ b: 3 }), taken],
  ])('%s', (_, known, seen, changes) => {
    const tracked = {
      payments: new Map([['a', anAcceptedPayment()]]),
      stored: new Map(known === undefined ? [] : [['a', known]]),
    };
    expect(inclusionChanges(tracked, seen)).toEqual(changes);
  });

  it('says nothing of a settlement that has come to its end', () => {
    const tracked = { payments: new Map(), stored: new Map([['a', stored()]]) };
    expect(inclusionChanges(tracked, undefined)).toEqual(nothing);
  });
});
