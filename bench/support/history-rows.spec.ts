import { describe, expect, it } from '@jest/globals';
import {
  chunksOf,
  idOf,
  type LargeHistory,
  OF_ONE_TRANSACTION,
  payeeOf,
  rankOf,
  spanOf,
  stepOf,
  transactionOf,
} from './history-rows.js';

const NOW = Date.UTC(2026, 10, 22, 12);
const history: LargeHistory = { seed: 'one', rows: 1000, ...spanOf(NOW, 5) };

describe('a history that is made', () => {
  it('begins with a month, and ends before a run of today', () => {
    expect(new Date(history.fromMs).toISOString()).toBe('2026-06-01T00:00:00.000Z');
    expect(new Date(history.toMs).toISOString()).toBe('2026-11-22T10:00:00.000Z');
    expect(spanOf(Date.UTC(2026, 1, 3), 5).fromMs).toBe(Date.UTC(2025, 8, 1));
  });

  it('has claims at even distances, all within its time', () => {
    const step = stepOf(history);
    const last = history.fromMs + (history.rows - 1) * step + step - 1;
    expect(last).toBeLessThan(history.toMs);
    expect(history.toMs - last).toBeLessThan(2 * history.rows);
    expect(stepOf({ ...history, rows: 1e12 })).toBe(1);
  });

  it('is written in ranges that leave nothing out and repeat nothing', () => {
    expect(chunksOf(25, 10)).toEqual([
      [0, 9],
      [10, 19],
      [20, 24],
    ]);
    expect(chunksOf(20, 10)).toHaveLength(2);
    expect(chunksOf(3, 10)).toEqual([[0, 2]]);
  });

  it('names the same settlements in every run of one seed', () => {
    expect(idOf(history, 7)).toBe(idOf({ ...history, rows: 5 }, 7));
    expect(idOf(history, 7)).not.toBe(idOf({ ...history, seed: 'two' }, 7));
    expect(Buffer.from(idOf(history, 7), 'base64url')).toHaveLength(32);
    expect(payeeOf(history, 0)).toMatch(/^0x[0-9a-f]{40}$/);
  });

  it('has several settlements of one transaction', () => {
    const hashes = Array.from({ length: 3 * OF_ONE_TRANSACTION }, (_, nth) =>
      transactionOf(history, nth),
    );
    expect(new Set(hashes).size).toBe(3);
    expect(hashes[0]).toBe(hashes[OF_ONE_TRANSACTION - 1]);
  });

  it('gives the first payees most of it', () => {
    const draws = Array.from({ length: 10_000 }, (_, nth) => rankOf(nth / 10_000, 10_000, 3));
    const partOf = (ranks: number): number =>
      draws.filter((rank) => rank < ranks).length / draws.length;
    // (1 / 10 000) ** (1 / 3), and of 100
    expect(partOf(1)).toBeCloseTo(0.0464, 3);
    expect(partOf(100)).toBeCloseTo(0.2154, 3);
    expect(Math.max(...draws)).toBeLessThan(10_000);
  });
});
