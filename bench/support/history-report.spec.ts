import { describe, expect, it } from '@jest/globals';
import { portionsOf } from './history-reading.js';
import {
  archivedPerSecond,
  bytesEach,
  type Drain,
  historyFacts,
  type HistoryReport,
  indexTable,
  readTable,
} from './history-report.js';
import { cellOf } from './timed-gets.js';

const drain: Drain = {
  beside: 'nothing',
  entries: 8000,
  settlements: 2000,
  seconds: 0.5,
  cores: { archiver: 0.8 },
};
const sizes = {
  rows: 100,
  table: 50_000,
  idTable: 10_000,
  indexes: { small: 1000, large: 39_000 },
};
const cell = cellOf(
  {
    what: 'look-up by id',
    concurrency: 8,
    seconds: 2,
    processorMs: { service: 1.5, postgres: 0.5 },
  },
  Array.from({ length: 200 }, (_, nth) => nth / 10),
);
const report: HistoryReport = {
  name: 'history',
  at: '2026-11-22T12:00:00Z',
  seed: 'one',
  postgres: '15.1',
  machine: {
    cpu: 'one',
    cores: 2,
    memoryGiB: 1,
    system: 'one',
    loadBefore: 0,
    versions: {},
    commit: 'abc',
  },
  settled: { settlements: 4000, perSecond: 800, concurrency: 1000 },
  drains: [drain],
  reconciled: { settlements: 4000, seconds: 8, exitCode: 0 },
  filled: { rows: 96, seconds: 2, months: 6 },
  archivedSizes: { ...sizes, table: 90_000 },
  sizes,
  reads: [
    { ...cell, targetMs: 10 },
    { ...cell, targetMs: 50 },
  ],
  totals: [],
  exports: [],
  problems: [],
  books: { settlements: 10, seconds: 0.1, cell },
};

describe('the report of bench:history', () => {
  it('says what a row takes, indexes and all', () => {
    expect(bytesEach(sizes)).toEqual({ tables: 600, indexes: 400, all: 1000 });
    expect(historyFacts(report).join('\n')).toContain(
      'A row of 100 takes 1000 bytes: 600 in the tables and 400 in indexes',
    );
    expect(indexTable(report)[1].map(([, bytes]) => bytes)).toEqual(['500', '100', '390', '10']);
  });

  it('holds the archiver against the settle rate by settlements, not by changes', () => {
    expect(archivedPerSecond(drain)).toBe(4000);
    expect(historyFacts(report).join('\n')).toContain('5.00 times the settle rate');
  });

  it('says whether a target was met', () => {
    expect(cell).toMatchObject({ requests: 200, perSecond: 100, p50: 10, p99: 19.8, most: 19.9 });
    const rows = readTable(report)[1].map((row) => row.slice(-3));
    expect(rows).toEqual([
      ['1.50', '0.50', '10 ms: missed'],
      ['1.50', '0.50', '50 ms: met'],
    ]);
  });
});

describe('what is asked for', () => {
  it('is warmed by some, and measured by others at each level', () => {
    const all = Array.from({ length: 45 }, (_, nth) => nth);
    const portions = portionsOf(all, 2);
    expect(portions.map(({ length }) => length)).toEqual([5, 20, 20]);
    expect(portions.flat()).toEqual(all);
  });
});
