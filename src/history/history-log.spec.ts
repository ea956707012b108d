import { describe, expect, it } from '@jest/globals';
import { Secret } from '../platform/config/secret.js';
import { ArchiveError } from './archive.js';
import { historyLog } from './history-log.js';

const NOTHING = { written: 1, stale: 0, expired: 0, unreadable: 0, gone: 0 };

function logged(): { readonly lines: string[]; readonly log: ReturnType<typeof historyLog> } {
  const lines: string[] = [];
  const line =
    (level: string) =>
    (...args: unknown[]): void => {
      const { problem } = Object(args[0]) as { readonly problem?: string };
      lines.push(`${level}: ${String(args.at(-1))}${problem === undefined ? '' : ` | ${problem}`}`);
    };
  const logger = {
    info: line('info'),
    warn: line('warn'),
    error: line('error'),
    debug: () => undefined,
  } as unknown as Parameters<typeof historyLog>[0];
  return { lines, log: historyLog(logger, new Secret('postgres://me:pw@db.example:5432/x402')) };
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
      'error: cannot archive settlements in PostgreSQL; they stay in Redis | DATABASE_URL: db.example:5432/x402: the server does not answer',
      'error: cannot archive settlements in PostgreSQL; they stay in Redis',
      'info: the history is archived again',
    ]);
  });

  it.each<[string, ArchiveError]>([
    ['the database does not exist (3D000)', new ArchiveError('database_failed', '3D000')],
    [
      'no server listens at this address (ECONNREFUSED)',
      new ArchiveError('database_unreachable', 'ECONNREFUSED'),
    ],
    ['the server does not answer', new ArchiveError('database_unreachable', undefined)],
  ])('says with setting, host and database that %s', (meaning, error) => {
    const { lines, log } = logged();
    log.failed(error.condition, error);
    expect(lines).toEqual([
      `error: cannot archive settlements in PostgreSQL; they stay in Redis | DATABASE_URL: db.example:5432/x402: ${meaning}`,
    ]);
  });

  it('names what was not made a row of', () => {
    const { lines, log } = logged();
    log.archived(56, { ...NOTHING, unreadable: 1, gone: 2 });
    expect(lines).toEqual([
      'error: some settlements could not be converted to archive rows; the archive stores them unconverted',
      'warn: settlement records expired in Redis before they were archived',
    ]);
  });
});
