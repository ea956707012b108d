import { beforeEach, describe, expect, it } from '@jest/globals';
import { RedisUnavailableError } from '../protocol/errors.js';
import { type AuditEntry, readAuditEntry } from '../settlement/ledger/audit-entry.js';
import { ArchiveError } from './archive.js';
import { AuditArchiver } from './audit-archiver.js';

const anEntry = (last: number): AuditEntry => ({
  id: `00000000-0000-0000-0000-00000000000${last}`,
  at: 1_700_000_000_000,
  by: 'ops',
  action: 'lane_paused',
  subject: '56:0xd4',
});

describe('the archiver of the audit', () => {
  let trail: AuditEntry[];
  let table: Map<string, AuditEntry>;
  let reads: number;
  let failures: unknown[];
  let failure: Error | undefined;

  const archiver = () =>
    new AuditArchiver(
      {
        newest: () =>
          failure instanceof RedisUnavailableError
            ? Promise.reject(failure)
            : Promise.resolve(trail.at(-1)?.id),
        all: () => {
          reads += 1;
          return Promise.resolve(trail);
        },
      },
      {
        add: (_, entries) => {
          if (failure !== undefined) return Promise.reject(failure);
          for (const one of entries) if (!table.has(one.id)) table.set(one.id, one);
          return Promise.resolve();
        },
      },
      { ledgerChainIds: [56] },
      {
        whenThere: (begin) => {
          begin();
        },
      },
      { error: (what: { readonly err: unknown }) => failures.push(what.err) } as never,
    );

  beforeEach(() => {
    trail = [anEntry(1), anEntry(2)];
    table = new Map();
    reads = 0;
    failures = [];
    failure = undefined;
  });

  it('copies what is new, and reads nothing where nothing is', async () => {
    const one = archiver();
    await one.round();
    await one.round();
    expect([[...table.values()], reads]).toEqual([trail, 1]);
    trail.push(anEntry(3));
    await one.round();
    expect([table.size, reads]).toEqual([3, 2]);
  });

  it('copies nothing twice, in any process', async () => {
    await Promise.all([archiver().round(), archiver().round()]);
    expect(table.size).toBe(2);
  });

  it('tells of a database that is away once, and copies when it is back', async () => {
    const one = archiver();
    failure = new ArchiveError('database_unreachable', undefined);
    await one.round();
    await one.round();
    expect(failures).toEqual([failure]);
    failure = new RedisUnavailableError('audit', undefined);
    await one.round();
    expect(failures).toHaveLength(1);
    failure = undefined;
    await one.round();
    expect(table.size).toBe(2);
  });

  it('copies what was noted before the process ends', async () => {
    const one = archiver();
    one.onModuleInit();
    await one.stop();
    expect(table.size).toBe(2);
  });
});

describe('an entry of the audit', () => {
  it('is read as it was written, and nothing else is', () => {
    expect(readAuditEntry(JSON.stringify(anEntry(1)))).toEqual(anEntry(1));
    for (const wrong of [{ id: 'one' }, { at: 'now' }, { at: 1.5 }, { by: 7 }, { subject: null }]) {
      expect(readAuditEntry(JSON.stringify({ ...anEntry(1), ...wrong }))).toBeUndefined();
    }
    for (const text of ['', '{', 'null', '7']) expect(readAuditEntry(text)).toBeUndefined();
  });
});
