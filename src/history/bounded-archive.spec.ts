import { beforeEach, describe, expect, it } from '@jest/globals';
import { aRecorded, idOf } from '../../test/builders/history/recorded-settlement.js';
import { TestClock } from '../../test/builders/platform/concurrency/clock.js';
import type { ArchivedSettlement, ArchiveQuery } from '../settlement/ledger/settlement-archive.js';
import { ArchiveError } from './archive.js';
import { settlementOfRow } from './archived-row.js';
import { BoundedArchive } from './bounded-archive.js';
import type { HistoryObserver } from './history-observer.js';
import { rowOf } from './settlement-row.js';

const QUERY: ArchiveQuery = { by: 'id', chainId: 56, ids: [idOf('a')] };
const FOUND = settlementOfRow(
  rowOf(56, 1, {
    kind: 'recorded',
    id: idOf('a'),
    version: { ms: 1, sequence: 0 },
    settlement: aRecorded('a', 'finalized'),
  }),
);

describe('the archive for those who must not wait', () => {
  let clock: TestClock;
  let reported: string[];
  let asked: number;
  let read: () => Promise<readonly ArchivedSettlement[]>;
  let archive: BoundedArchive;

  beforeEach(() => {
    clock = new TestClock();
    reported = [];
    asked = 0;
    read = () => Promise.resolve([FOUND]);
    const find = () => {
      asked += 1;
      return read();
    };
    const observer: Pick<HistoryObserver, 'lookedUp'> = {
      lookedUp: (by, outcome) => reported.push(`${by} ${outcome}`),
    };
    archive = new BoundedArchive({ find }, observer, clock, 20);
  });
  const away = () => Promise.reject(new ArchiveError('database_unreachable', 'ECONNREFUSED'));

  it('tells of every query, found or not', async () => {
    expect(await archive.find(QUERY)).toEqual({ kind: 'found', settlements: [FOUND] });
    read = () => Promise.resolve([]);
    expect(await archive.find(QUERY)).toEqual({ kind: 'found', settlements: [] });
    expect(reported).toEqual(['id found', 'id nothing']);
  });

  it('is away, and throws nothing, whatever is wrong', async () => {
    for (const error of [new ArchiveError('schema_outdated', '42P01'), new TypeError('a row')]) {
      read = () => Promise.reject(error);
      expect(await archive.find(QUERY)).toEqual({ kind: 'away' });
    }
  });

  it('is away once the time is up', async () => {
    read = () => new Promise(() => undefined);
    expect(await archive.find(QUERY)).toEqual({ kind: 'away' });
    expect(reported).toEqual(['id away']);
  });

  it('is not asked for a while after it has failed three times in a row', async () => {
    read = away;
    for (let i = 0; i < 5; i += 1) expect(await archive.find(QUERY)).toEqual({ kind: 'away' });
    expect([asked, archive.isAway]).toEqual([3, true]);
    expect(reported.slice(3)).toEqual(['id skipped', 'id skipped']);
    await clock.pass(2000);
    read = () => Promise.resolve([FOUND]);
    expect((await archive.find(QUERY)).kind).toBe('found');
    expect((await archive.find(QUERY)).kind).toBe('found');
    expect([asked, archive.isAway]).toEqual([5, false]);
  });

  it('lets no crowd wait for it, and counts a crowd as no failure', async () => {
    let answer: (found: readonly ArchivedSettlement[]) => void = () => undefined;
    const answers = new Promise<readonly ArchivedSettlement[]>((resolve) => {
      answer = resolve;
    });
    read = () => answers;
    const crowd = Array.from({ length: 100 }, () => archive.find(QUERY));
    answer([FOUND]);
    const kinds = (await Promise.all(crowd)).map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === 'found')).toHaveLength(64);
    expect([asked, archive.isAway]).toEqual([64, false]);
  });
});
