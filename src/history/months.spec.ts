import { describe, expect, it } from '@jest/globals';
import {
  monthOf,
  monthOfPartition,
  oldestKept,
  partitionOf,
  startOf,
} from './postgres/partitions.js';

describe('a month of the history', () => {
  it.each([
    [Date.UTC(2026, 10, 30, 23, 59, 59, 999), 'settlements_2026_11', '2026-11-01T00:00:00Z'],
    [Date.UTC(2026, 11, 1), 'settlements_2026_12', '2026-12-01T00:00:00Z'],
    [Date.UTC(2027, 0, 1), 'settlements_2027_01', '2027-01-01T00:00:00Z'],
  ])('is one of UTC: %d', (at, name, start) => {
    expect(partitionOf(monthOf(at))).toBe(name);
    expect(startOf(monthOf(at))).toBe(start);
    expect(monthOfPartition(name)).toBe(monthOf(at));
  });

  it.each(['settlements', 'settlements_2026_13', 'settlements_2026_1', 'other_2026_11'])(
    'is not in the name %s',
    (name) => {
      expect(monthOfPartition(name)).toBeUndefined();
    },
  );

  it('is kept while it is current, and for as many after it as are wanted', () => {
    const now = Date.UTC(2027, 0, 15);
    expect(partitionOf(oldestKept(now, 1))).toBe('settlements_2026_12');
    expect(oldestKept(now, undefined)).toBe(-Infinity);
  });
});
