import { describe, expect, it } from '@jest/globals';
import { aSettlementView } from '../../../test/builders/settlement/model/settlement-view.js';
import { isFailure, isSoldToKey, isSuccessAt, type SettlementState } from './settlement.js';

describe('the answer for a state', () => {
  it.each<[SettlementState, boolean, { included: boolean; finalized: boolean; failure: boolean }]>([
    ['queued', false, { included: false, finalized: false, failure: false }],
    // It may land at any moment: neither one nor the other.
    ['broadcast', false, { included: false, finalized: false, failure: false }],
    ['included', true, { included: true, finalized: false, failure: false }],
    ['finalized', true, { included: true, finalized: true, failure: false }],
    ['foreign', true, { included: true, finalized: true, failure: false }],
    ['foreign', false, { included: false, finalized: false, failure: true }],
    ['reverted', false, { included: false, finalized: false, failure: true }],
    ['expired', false, { included: false, finalized: false, failure: true }],
    ['withdrawn', false, { included: false, finalized: false, failure: true }],
  ])('%s, paid: %s', (state, isPaid, expected) => {
    const view = aSettlementView({ state, isPaid });
    expect({
      included: isSuccessAt(view, 'included'),
      finalized: isSuccessAt(view, 'finalized'),
      failure: isFailure(view),
    }).toEqual(expected);
  });

  it.each([
    ['the key it was sold to', 'sold', 'k', 'k', true],
    ['another key', 'sold', 'k', 'other', false],
    ['no key, where it was sold to one', 'sold', 'k', '', false],
    ['no key, where it was sold to none', 'sold', '', '', false],
    ['the key of a sale that was taken back', 'open', 'k', 'k', false],
  ] as const)('is sold to %s or not', (_, state, soldKeyTag, keyTag, expected) => {
    expect(isSoldToKey(aSettlementView({ sale: { state, soldKeyTag } }), keyTag)).toBe(expected);
  });
});
