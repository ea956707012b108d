import { describe, expect, it } from '@jest/globals';
import { besideTable, lostTo, type PacedSettles } from './catalogue-report.js';

const at = (perSecond: number): PacedSettles => ({ perSecond, p50: 10, p99: 20, failed: 0 });

describe('what questions cost settles', () => {
  it('is what was settled less, of all runs together', () => {
    expect(lostTo({ alone: [at(100), at(110)], asked: [at(100), at(89)] })).toBeCloseTo(0.1);
  });

  it('is nothing where more was settled, and everything where nothing was', () => {
    expect(lostTo({ alone: [at(100)], asked: [at(101)] })).toBe(0);
    expect(lostTo({ alone: [at(100)], asked: [at(0)] })).toBe(1);
    expect(lostTo({ alone: [], asked: [] })).toBe(1);
  });

  it('is shown run by run', () => {
    const reads = { what: 'x', concurrency: 8, requests: 1, perSecond: 1 };
    const times = { p50: 1, p99: 1, most: 1, processorMs: {} };
    const beside = {
      ceiling: 200,
      pace: 100,
      asksPerSecond: 20,
      reads: { ...reads, ...times },
      alone: [at(100), at(99)],
      asked: [at(98), at(97)],
    };
    const [head, rows] = besideTable({ beside });
    expect(head).toHaveLength(5);
    expect(rows.map(([what]) => what)).toEqual([
      'alone, run 1',
      'alone, run 2',
      '20 questions a second beside them, run 1',
      '20 questions a second beside them, run 2',
    ]);
  });
});
