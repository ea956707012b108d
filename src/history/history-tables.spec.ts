import { beforeEach, describe, expect, it } from '@jest/globals';
import { ArchiveError } from './archive.js';
import { HistoryTables } from './history-tables.js';
import type { TablesState } from './postgres/migrator.js';

describe('the tables of the history', () => {
  let answer: TablesState | Error;
  let reported: string[];
  let begun: string[];

  const made = (settles = true): HistoryTables =>
    new HistoryTables(
      {
        state: () => (answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer)),
      },
      {
        waits: (state) => reported.push(state),
        found: () => reported.push('found'),
        failed: () => reported.push('failed'),
      },
      { settles },
    );

  beforeEach(() => {
    [reported, begun] = [[], []];
  });

  it('are waited for, told of once, and what needs them is begun once', async () => {
    const tables = made();
    tables.whenThere(() => begun.push('before'));
    answer = 'missing';
    for (let round = 0; round < 3; round += 1) await tables.round();
    expect(tables.report()).toEqual({ isUp: false, facts: { code: 'tables_missing' } });
    expect([reported, begun]).toEqual([['missing'], []]);
    answer = 'there';
    await tables.round();
    tables.whenThere(() => begun.push('after'));
    expect(tables.report()).toEqual({ isUp: true, facts: {} });
    expect([reported, begun]).toEqual([
      ['missing', 'found'],
      ['before', 'after'],
    ]);
  });

  it('that were there all along are not told of', async () => {
    answer = 'there';
    await made().round();
    expect(reported).toEqual([]);
  });

  it('of another version keep a process only from what needs them', async () => {
    answer = 'outdated';
    const [settling, archiving] = [made(), made(false)];
    for (const tables of [settling, archiving]) await tables.round();
    const facts = { code: 'tables_outdated' };
    expect(settling.report()).toEqual({ isUp: true, facts });
    expect(archiving.report()).toEqual({ isUp: false, facts });
  });

  it('of an unreachable database are looked for again, and do not stop settling', async () => {
    answer = new ArchiveError('database_unreachable', 'ECONNREFUSED');
    const tables = made(false);
    tables.whenThere(() => begun.push('begun'));
    for (let round = 0; round < 3; round += 1) await tables.round();
    expect(tables.report().isUp).toBe(true);
    answer = 'there';
    await tables.round();
    expect([reported, begun]).toEqual([['failed'], ['begun']]);
  });
});
