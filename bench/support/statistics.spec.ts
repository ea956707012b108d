import { describe, expect, it } from '@jest/globals';
import { ascending, percentile, slopeOf, spreadOf } from './statistics.js';

describe('figures of a bench', () => {
  it('takes the value below which a share of all lies', () => {
    const values = ascending([5, 1, 4, 2, 3, 10, 9, 8, 7, 6]);
    expect([0, 0.5, 0.9, 0.99, 1].map((share) => percentile(values, share))).toEqual([
      1, 6, 10, 10, 10,
    ]);
  });

  it.each([
    [[3, 1, 2], { median: 2, least: 1, most: 3 }],
    [[4, 1, 2, 3], { median: 2.5, least: 1, most: 4 }],
    [[7], { median: 7, least: 7, most: 7 }],
  ])('finds the middle of %j', (values, spread) => {
    expect(spreadOf(values)).toEqual(spread);
  });

  it.each([
    ['a line', 2, [1, 3, 5, 7]],
    ['what does not grow', 0, [4, 4, 4, 4]],
    ['what shrinks', -1, [3, 2, 1, 0]],
  ])('tells the growth of %s', (_, slope, values) => {
    expect(slopeOf(values.map((value, minute) => [minute, value]))).toBeCloseTo(slope);
  });
});
