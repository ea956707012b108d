import { describe, expect, it } from '@jest/globals';
import {
  aSeen,
  ASSET,
  hashNamed,
  LANE,
  STRANGER,
} from '../../../test/builders/history/reconciliation/records.js';
import {
  compareLane,
  type LaneComparison,
  laneTransactionOf,
  missingNonces,
} from './compare-lane.js';

const sent = (nonce: number, valueWei = 0n) =>
  laneTransactionOf(aSeen({ nonce, valueWei, hash: hashNamed(String(nonce)) }));
const books = (more: Partial<LaneComparison> = {}): LaneComparison => ({
  lane: LANE,
  before: { nonce: 3, balanceWei: 1000n },
  after: { nonce: 5, balanceWei: 800n },
  transactions: [sent(3), sent(4)],
  topUpMostWei: 0n,
  lanes: new Set([LANE]),
  ...more,
});
const after = (balanceWei: bigint, nonce = 5) => ({ after: { nonce, balanceWei } });
const found = (more: Partial<LaneComparison>) =>
  compareLane(books(more)).findings.map(({ name, found: what, expected }) => [
    ...[name, expected, what].filter((one) => one !== undefined),
  ]);

describe('the books of a lane', () => {
  it('are right when its transactions explain its balance', () => {
    expect(compareLane(books())).toEqual({
      account: {
        lane: LANE,
        before: { nonce: 3, balanceWei: 1000n },
        after: { nonce: 5, balanceWei: 800n },
        transactions: 2,
        feesWei: 200n,
        sentWei: 0n,
        receivedWei: 0n,
      },
      findings: [],
    });
    const still = { nonce: 3, balanceWei: 1000n };
    expect(found({ before: still, after: still, transactions: [] })).toEqual([]);
  });

  it.each<[string, Partial<LaneComparison>, readonly (readonly string[])[]]>([
    ['money that is gone', after(799n), [['lane_gas_differs', '800 wei', '799 wei']]],
    ['money that came', after(850n), [['lane_funded', '800 wei', '50 wei']]],
    [
      'a state that could not be read',
      { before: undefined },
      [['not_checked', 'the state of the lane at both ends']],
    ],
    [
      'nonces of which nothing was found',
      after(100n, 9),
      [['not_checked', 'account nonce 5 to 8']],
    ],
    ['a nonce in between', { transactions: [sent(4)] }, [['not_checked', 'account nonce 3']]],
    [
      'a transaction beyond its count',
      { transactions: [sent(3), sent(4), sent(5)] },
      [['lane_nonces_differ', '3 to 4', '5']],
    ],
    [
      'a count that went back',
      { ...after(800n, 2), transactions: [] },
      [['lane_nonces_differ', '3 to 1']],
    ],
    [
      'native coins that it sent',
      { ...after(793n), transactions: [sent(3), sent(4, 7n)] },
      [['lane_sent_native', '7 wei']],
    ],
    [
      'a top-up',
      { ...after(793n), transactions: [sent(3), sent(4, 7n)], topUpMostWei: 7n },
      [['lane_topped_up_payer', '7 wei']],
    ],
    [
      'coins for another lane, whatever the sum',
      {
        ...after(793n),
        transactions: [sent(3), sent(4, 7n)],
        topUpMostWei: 6n,
        lanes: new Set([LANE, ASSET]),
      },
      [['lane_refilled', '7 wei']],
    ],
    [
      'more than a top-up',
      { ...after(793n), transactions: [sent(3), sent(4, 7n)], topUpMostWei: 6n },
      [['lane_sent_native', '7 wei']],
    ],
  ])('name %s', (_, more, findings) => {
    expect(found(more)).toEqual(findings);
  });

  it('say nothing of a balance that they cannot know', () => {
    expect(compareLane(books(after(1n, 9))).account.receivedWei).toBeUndefined();
    expect(compareLane(books({ after: undefined })).account.receivedWei).toBeUndefined();
  });

  it('count what a lane sends to itself or in vain as nothing', () => {
    const to = { to: LANE, valueWei: 5n };
    expect(laneTransactionOf(aSeen(to)).sentWei).toBe(0n);
    expect(laneTransactionOf(aSeen({ valueWei: 5n, isSuccess: false })).sentWei).toBe(0n);
    expect(laneTransactionOf(aSeen({ valueWei: 5n, to: STRANGER })).sentWei).toBe(5n);
  });

  it('tell which account nonces are missing', () => {
    expect(missingNonces(books({ transactions: [sent(4)] }))).toEqual([3]);
    expect(missingNonces(books({ before: undefined }))).toEqual([]);
  });
});
