import { describe, expect, it } from '@jest/globals';
import { entryIdOf } from '../../src/discovery/postgres/entry-rows.js';
import { readResourceUrl } from '../../src/protocol/listing/resource-url.js';
import { COMMON_WORD, type LargeCatalogue, madeEntry, rankOfEntry } from './catalogue-rows.js';

const NOW = Date.UTC(2026, 10, 22, 12);
const SMALL: LargeCatalogue = { seed: 'one', entries: 2000, calls: 6000, nowMs: NOW };
const all = Array.from({ length: SMALL.entries }, (_, nth) => madeEntry(SMALL, nth));

describe('a catalogue that is made', () => {
  it('has the same entries in every run of one seed, and no entry twice', () => {
    expect(madeEntry(SMALL, 7)).toEqual(all[7]);
    expect(madeEntry({ ...SMALL, seed: 'two' }, 7)).not.toEqual(all[7]);
    const ids = all.map((one) => entryIdOf(one, one.listing).toString('hex'));
    expect(new Set(ids).size).toBe(SMALL.entries);
  });

  it('gives every entry a rank of its own', () => {
    const ranks = all.map((_, nth) => rankOfEntry(SMALL, nth));
    expect(new Set(ranks).size).toBe(SMALL.entries);
    expect(Math.max(...ranks)).toBe(SMALL.entries - 1);
  });

  it('has only what a catalogue would list, of the last month', () => {
    for (const { listing, paidAt } of all) {
      const url = readResourceUrl(listing.resource, 'resource', new Set());
      expect('code' in url).toBe(false);
      expect(listing.description?.length).toBeLessThanOrEqual(500);
      expect(listing.description?.endsWith(` ${COMMON_WORD}`)).toBe(true);
      expect(NOW - paidAt.getTime()).toBeLessThan(30 * 86_400_000);
    }
  });

  it('gives no payee more entries than one may have', () => {
    const large = { ...SMALL, entries: 200_000 };
    const counts = new Map<string, number>();
    for (let nth = 0; nth < large.entries; nth += 20) {
      const { payTo } = madeEntry(large, nth);
      counts.set(payTo, (counts.get(payTo) ?? 0) + 1);
    }
    const most = Math.max(...counts.values());
    expect(most).toBeGreaterThan(10);
    // One in twenty was looked at.
    expect(20 * most).toBeLessThan(700);
  });
});
