import { describe, expect, it } from '@jest/globals';
import type { DayCounts } from '../index/hub-listing.js';
import { statRows } from './statistics.js';

const TODAY = Date.UTC(2026, 10, 26, 9, 30);
const DAY = Math.floor(TODAY / 86_400_000);
const day = (ago: number, more: Partial<DayCounts> = {}): DayCounts => ({
  day: DAY - ago,
  owners: 0,
  buckets: 0,
  objects: 1,
  bytes: 10,
  volumes: 0,
  ...more,
});

describe('statistics by day', () => {
  it('are empty where nothing was stored', () => {
    expect(statRows([], 30, TODAY)).toEqual([]);
  });

  it('begin with today, have days on which nothing came, and add up to the first day', () => {
    const rows = statRows([day(3, { owners: 2, buckets: 3, volumes: 2 }), day(1)], 30, TODAY);
    expect(
      rows.map(({ Day, DailyNeedles, TotalNeedles }) => [Day, DailyNeedles, TotalNeedles]),
    ).toEqual([
      ['2026-11-26T00:00:00Z', 0, 2],
      ['2026-11-25T00:00:00Z', 1, 2],
      ['2026-11-24T00:00:00Z', 0, 1],
      ['2026-11-23T00:00:00Z', 1, 1],
    ]);
    expect(rows.at(-1)).toMatchObject({ DailyAccounts: 2, DailyBuckets: 3, DailyVolumes: 2 });
    expect(rows[0]).toMatchObject({
      DailyAccounts: 0,
      TotalAccounts: 2,
      TotalBuckets: 3,
      TotalVolumes: 2,
    });
  });

  it('count what came before the days that are asked for', () => {
    const rows = statRows([day(40), day(1), day(0)], 2, TODAY);
    expect(rows.map(({ TotalNeedles }) => TotalNeedles)).toEqual([3, 2]);
  });
});
