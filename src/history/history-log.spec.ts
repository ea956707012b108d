import { describe, expect, it } from '@jest/globals';
import { ArchiveError } from './archive.js';
import { historyLog } from './history-log.js';

const NOTHING = { written: 1, stale: 0, expired: 0, unreadable: 0, gone: 0 };

function logged(): { readonly lines: string[]; readonly log: ReturnType<typeof historyLog> } {
  const lines: string[] = [];
  const line =
    (level: string) =>
    (...args: unknown[]): void => {
      lines.push(`${level}: ${String(args.at(-1))}`);
    };
  const logger = {
    info: line('info'),
    warn: line('warn'),
    error: line('error'),
    debug: () => undefined,
  } as unknown as Parameters<typeof historyLog>[0];
  return { lines, log: historyLog(logger) };
}

describe('the archiver in the log', () => {
  it('is one line for an outage, and one for its end', () => {
    const { lines, log } = logged();
    log.opened();
    for (let times = 0; times < 3; times += 1) {
      log.failed('database_unreachable', new ArchiveError('database_unreachable', undefined));
    }
    log.failed('schema_outdated', new ArchiveError('schema_outdated', undefined));
    log.opened();
    log.archived(56, NOTHING);
    expect(lines).toEqual([
      'info: the history is archived in PostgreSQL',
      'error: cannot archive settlements in PostgreSQL; they stay in Redis',
      'error: cannot archive settlements in PostgreSQL; they stay in Redis',
      'info: the history is archived again',
    ]);
  });

  it('names what was not made a row of', () => {
    const { lines, log } = logged();
    log.archived(56, { ...NOTHING, unreadable: 1, gone: 2 });
    expect(lines).toEqual([
      'error: some records could not be converted to archive rows and are stored unconverted',
      'warn: records expired in Redis before they were archived',
    ]);
  });
});
