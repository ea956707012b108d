import { beforeEach, describe, expect, it } from '@jest/globals';
import { TestClock } from '../../../test/builders/platform/concurrency/clock.js';
import type { CatalogueCounts } from '../postgres/postgres-counts.js';
import { CatalogueFigures } from './catalogue-figures.js';

const COUNTS: CatalogueCounts = {
  listed: new Map([[56, 3]]),
  denials: { payee: 1, host: 0 },
};

describe('figures of the catalogue', () => {
  let clock: TestClock;
  let asked: Date[];
  let answer: () => Promise<CatalogueCounts>;
  let figures: CatalogueFigures;

  beforeEach(() => {
    clock = new TestClock();
    asked = [];
    answer = () => Promise.resolve(COUNTS);
    const count = (since: Date): Promise<CatalogueCounts> => {
      asked.push(since);
      return answer();
    };
    const lags = (): ReadonlyMap<number, number> => new Map([[56, 200]]);
    figures = new CatalogueFigures({ count }, { lags }, { expiryMs: 1000 }, clock);
  });

  it('are counted once a minute for all callers', async () => {
    const now = clock.now();
    expect(await figures.counts()).toBe(COUNTS);
    await figures.counts();
    expect(asked).toEqual([new Date(now - 1000)]);
    await clock.pass(60_000);
    await figures.counts();
    expect(asked).toHaveLength(2);
  });

  it('are counted again after what failed', async () => {
    answer = () => Promise.reject(new Error('away'));
    await expect(figures.counts()).rejects.toThrow('away');
    answer = () => Promise.resolve(COUNTS);
    expect(await figures.counts()).toBe(COUNTS);
  });
});
