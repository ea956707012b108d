import { describe, expect, it } from '@jest/globals';
import type { Hex } from 'viem';
import { aSettlementView } from '../../../test/builders/settlement/model/settlement-view.js';
import { mayEvict } from '../../history/evictor.js';
import type { RecordedSettlement } from './recorded-settlement.js';
import type { SettlementState } from './settlement.js';

const TX: Hex = `0x${'5f'.repeat(32)}`;

interface Ended {
  readonly isPaid?: boolean;
  readonly isSold?: boolean;
  readonly isAcknowledged?: boolean;
  readonly transaction?: Hex | undefined;
  readonly finished?: number | undefined;
}

function ended(state: SettlementState, of: Ended): RecordedSettlement {
  const { isPaid = false, isSold = false, isAcknowledged = false } = of;
  const transaction = 'transaction' in of ? of.transaction : TX;
  const finished = 'finished' in of ? of.finished : 2;
  return {
    view: aSettlementView({
      state,
      isPaid,
      transaction,
      sale: { state: isSold ? 'sold' : 'open' },
    }),
    details: undefined,
    authorizationId: 'auth',
    isAcknowledged,
    isPinned: false,
    blockHash: undefined,
    times: { claimed: 1, included: undefined, finished },
  };
}

describe('a finished settlement', () => {
  it.each<[string, SettlementState, Ended]>([
    ['was paid and sold', 'finalized', { isPaid: true, isSold: true, isAcknowledged: true }],
    [
      'was paid by a copy, and sold',
      'foreign',
      { isPaid: true, isSold: true, isAcknowledged: true },
    ],
    ['was used elsewhere', 'foreign', {}],
    ['reverted', 'reverted', {}],
    ['expired', 'expired', {}],
  ])('may leave that %s', (_, state, of) => {
    expect(mayEvict(ended(state, of))).toBe(true);
  });

  it.each<[string, SettlementState, Ended]>([
    ['is still to be sold', 'finalized', { isPaid: true }],
    ['was paid by a copy, and is to be sold', 'foreign', { isPaid: true }],
    // The chain would let it be settled once more.
    [
      'was settled for nothing',
      'finalized',
      { isPaid: true, isSold: true, transaction: undefined },
    ],
    // Success was acknowledged, and a reorganisation of the chain dropped the payment.
    ['was acknowledged as paid, and expired', 'expired', { isSold: true, isAcknowledged: true }],
    ['was acknowledged as paid, and reverted', 'reverted', { isSold: true, isAcknowledged: true }],
    [
      'was acknowledged as paid, and used elsewhere',
      'foreign',
      { isSold: true, isAcknowledged: true },
    ],
    ['was accepted, and used elsewhere', 'foreign', { isSold: true }],
    ['was withdrawn', 'withdrawn', {}],
    ['is not finished', 'included', { isPaid: true, isSold: true, finished: undefined }],
    [
      'does not say when it was finished',
      'finalized',
      { isPaid: true, isSold: true, finished: undefined },
    ],
    ['waits', 'queued', {}],
  ])('stays that %s', (_, state, of) => {
    expect(mayEvict(ended(state, of))).toBe(false);
  });
});
