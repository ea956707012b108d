import { describe, expect, it } from '@jest/globals';
import { problemsOf, ratiosOf, Scoreboard } from './comparison.js';
import type { LoadResult } from './load.js';

function result(perSecond: number, latencies: readonly number[], failed = 0): LoadResult {
  return {
    concurrency: 32,
    completed: latencies.length,
    failed,
    seconds: 1,
    perSecond,
    latencies,
    failures: failed === 0 ? {} : { closed: failed },
  };
}

describe('a comparison', () => {
  const board = new Scoreboard();
  board.note('ours', 'eip3009', result(1000, [1, 2, 3]), 0.5);
  board.note('reference', 'eip3009', result(100, [10, 20, 30]), 1);
  board.note('reference', 'eip3009', result(50, [40], 2), 1);
  board.note('ours', 'eip3009', result(600, [4]), 0.6);
  const cells = board.cells();

  it('compares each round with its own other half', () => {
    expect(ratiosOf(cells)).toEqual([
      {
        kind: 'eip3009',
        concurrency: 32,
        throughput: { median: 11, least: 10, most: 12 },
        p99OverItsP50: 4 / 30,
        // 0.5 and 1 ms of this service against 10 and 20 ms of the reference.
        processorTime: 15 / 0.75,
      },
    ]);
  });

  it('takes percentiles over the requests of all rounds', () => {
    const [ours] = cells.filter(({ contestant }) => contestant === 'ours');
    expect([ours?.p50, ours?.p99]).toEqual([3, 4]);
  });

  it('names what failed and why', () => {
    expect(problemsOf(cells)).toEqual(['reference eip3009 at 32: 2 failed [{},{"closed":2}]']);
  });
});
