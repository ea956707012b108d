import { describe, expect, it } from '@jest/globals';
import type { JournalEntry } from '../storage/storage-provider.js';
import { type CompactionRules, NameHistory } from './name-history.js';

const name = { owner: 'o', id: 'a' };
const put = (order: number): JournalEntry => ({
  op: 'put',
  order,
  ...name,
  bucket: 'b',
  kind: 'memory',
  volume: 0,
  start: order * 31,
  size: 1,
  sha256: 'ab',
  blocks: '',
});
const remove = (order: number, upTo?: number): JournalEntry => ({
  op: 'remove',
  order,
  ...name,
  upTo,
});
const price = (order: number, terms = '{"amount":"1"}'): JournalEntry => ({
  op: 'price',
  order,
  ...name,
  terms,
});
const freed = (order: number, ...orders: number[]): JournalEntry => ({
  op: 'freed',
  order,
  ...name,
  payloads: orders.map((one) => ({ volume: 0, start: one * 31, size: 1 })),
});

describe('the history of a name', () => {
  const rules = { versions: 0, grace: 100, soldGrace: 1000, slack: 0, now: 10_000 };
  const historyOf = (entries: readonly JournalEntry[]): NameHistory => {
    const history = new NameHistory(name);
    for (const entry of entries) history.note(entry);
    return history;
  };
  const dead = (entries: readonly JournalEntry[], more: Partial<CompactionRules> = {}): number[] =>
    historyOf(entries)
      .dead({ ...rules, ...more })
      .map(({ order }) => order);
  const fallen = (entries: readonly JournalEntry[], more: Partial<CompactionRules> = {}) =>
    historyOf(entries).newestFallen({ ...rules, ...more });

  it('has nothing dead while nothing was given up', () => {
    expect(dead([put(1), put(2), put(3)])).toEqual([]);
  });

  it('has what was given up dead when its grace is over, and not before', () => {
    expect(dead([put(1), put(2), remove(3), put(4)], { now: 103 })).toEqual([1, 2]);
    expect(dead([put(1), put(2), remove(3), put(4)], { now: 102 })).toEqual([]);
  });

  it('waits for the slowest clock too', () => {
    expect(dead([put(1), remove(2)], { now: 111, slack: 10 })).toEqual([]);
    expect(dead([put(1), remove(2)], { now: 112, slack: 10 })).toEqual([1]);
  });

  it('frees nothing twice', () => {
    expect(dead([put(1), put(2), remove(3), freed(4, 1)])).toEqual([2]);
    const twin = { ...put(1), volume: 1 } as JournalEntry;
    expect(historyOf([put(1), twin, remove(3), freed(4, 1)]).dead(rules)).toMatchObject([
      { volume: 1 },
    ]);
  });

  it('keeps what may have been sold for as long as access can last', () => {
    const entries = [put(1), price(2), price(3, ''), remove(4), put(5), remove(2000)];
    expect(dead(entries, { now: 1003 })).toEqual([]);
    expect(dead(entries, { now: 1004 })).toEqual([1]);
  });

  it('keeps what a price may be of that was being set while its bytes were given up', () => {
    const entries = [put(1), remove(2), put(3), price(4)];
    expect(dead(entries)).toEqual([]);
    expect(dead([...entries, price(5, '')], { now: 1005 })).toEqual([1]);
  });

  it('keeps what is for sale, also where the name was written again', () => {
    expect(dead([put(1), price(2), put(3), remove(4, 1)])).toEqual([]);
    expect(fallen([put(1), price(2), put(3)])).toBeUndefined();
    expect(dead([put(1), price(2), put(3), remove(4, 1), price(5, '')])).toEqual([1]);
    expect(dead([put(1), price(2), put(3), remove(4, 1), price(9500, '')])).toEqual([]);
  });

  it('does not take a price for ended that was removed on a condition', () => {
    const withdrawal: JournalEntry = { ...price(3, ''), withdraws: 'ab' } as JournalEntry;
    expect(dead([put(1), price(2), withdrawal, put(4), remove(5, 1)])).toEqual([]);
    expect(dead([put(1), price(2), withdrawal, put(4), remove(5)])).toEqual([1, 4]);
  });

  describe('where files are given up for their age', () => {
    it('has dead what was stored until then, and nothing newer', () => {
      expect(dead([put(1), put(2), remove(9, 1)])).toEqual([1]);
      expect(dead([put(1), put(2), remove(9, 2)])).toEqual([1, 2]);
    });

    it('spares the newest of a name with a price, as the index does', () => {
      expect(dead([put(1), price(2), remove(9, 1)])).toEqual([]);
      expect(dead([put(1), price(2), remove(9, 1), put(10)])).toEqual([]);
      expect(dead([put(1), price(2), put(3), remove(9, 1), price(10, '')])).toEqual([1]);
    });

    it('does not believe orders that are closer than clocks', () => {
      const entries = [put(1), price(2), put(3), remove(9, 1), price(10, '')];
      expect(dead(entries, { slack: 5 })).toEqual([1]);
      expect(dead(entries, { slack: 6 })).toEqual([]);
    });
  });

  describe('with versions', () => {
    it('has nothing to give up while there are no more of them than are kept', () => {
      expect(fallen([put(1)])).toBeUndefined();
      expect(fallen([put(1), put(2), put(3)], { versions: 2 })).toBeUndefined();
    });

    it('names the newest that has had enough newer ones for long enough', () => {
      const entries = [put(1), put(2), put(3), put(950)];
      expect(fallen(entries, { versions: 1 })).toBe(2);
      expect(fallen(entries, { versions: 1, now: 1000 })).toBe(1);
      expect(fallen(entries, { versions: 2, now: 1000 })).toBeUndefined();
    });

    it('does not take a payload for older than one of the same moment, by another writer', () => {
      expect(fallen([put(1), put(1)])).toBeUndefined();
      expect(fallen([put(1), put(1), put(2)], { versions: 1 })).toBeUndefined();
      expect(fallen([put(1), put(1), put(2)])).toBe(1);
    });

    it('does not name one again that was given up', () => {
      expect(fallen([put(1), put(2), remove(500, 1)])).toBeUndefined();
      expect(dead([put(1), put(2), remove(500, 1)])).toEqual([1]);
    });
  });

  it('remembers no more than its share, and has nothing dead then', () => {
    const history = new NameHistory(name);
    let remembered = 0;
    for (let order = 1; order <= 20_000; order += 1) remembered += history.note(put(order));
    remembered += history.note(remove(20_001));
    expect(remembered).toBe(0);
    expect(history.dead({ ...rules, now: 1_000_000 })).toEqual([]);
    expect(history.newestFallen({ ...rules, now: 1_000_000 })).toBeUndefined();
  });
});
