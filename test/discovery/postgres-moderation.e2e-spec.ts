import { describe, expect, it } from '@jest/globals';
import { NOON, PAYEE, RESOURCE } from '../../src/discovery/lesson.builder.js';
import type { Noted } from '../../src/discovery/operators/memory-moderation.builder.js';
import { moderationContract } from '../../src/discovery/operators/moderation-contract.builder.js';
import type { Denial } from '../../src/discovery/operators/moderation-store.js';
import { type Report, REPORT_BOUNDS } from '../../src/discovery/operators/report-store.js';
import { reportsContract } from '../../src/discovery/operators/reports-contract.builder.js';
import { entryIdNamed } from '../../src/discovery/postgres/entry-rows.js';
import { PostgresCatalogue } from '../../src/discovery/postgres/postgres-catalogue.js';
import { PostgresCatalogueReader } from '../../src/discovery/postgres/postgres-catalogue-reader.js';
import { PostgresModeration } from '../../src/discovery/postgres/postgres-moderation.js';
import { PostgresReports } from '../../src/discovery/postgres/postgres-reports.js';
import { auditRows } from '../../src/history/postgres/audit-rows.js';
import { freshDatabase } from '../support/fresh-database.js';

const database = freshDatabase();

const audit = async (): Promise<readonly Noted[]> => {
  const { rows } = await database.current.pool.query<Noted>(
    'select actor as by, action, subject, reason from x402.audit order by archived_at',
  );
  return rows;
};

moderationContract('in PostgreSQL', () =>
  Promise.resolve({
    store: new PostgresModeration(database.current.db),
    writer: new PostgresCatalogue(database.current.db, { entriesPerPayee: 9 }),
    reader: new PostgresCatalogueReader(database.current.db),
    audit,
  }),
);

reportsContract('in PostgreSQL', () =>
  Promise.resolve({
    reports: new PostgresReports(database.current.db),
    store: new PostgresModeration(database.current.db),
    writer: new PostgresCatalogue(database.current.db, { entriesPerPayee: 9 }),
    audit,
  }),
);

describe('reports in PostgreSQL', () => {
  const report = (reporter: number, at = NOON): Report => ({
    entry: { chainId: 56, payTo: PAYEE, type: 'http', resource: RESOURCE, call: 'GET' },
    ...{ kind: 'malware', words: '', at: new Date(at), reporter: Buffer.from([reporter]) },
  });
  const count = async (what: string): Promise<unknown> => {
    const text = `select count(*)::int as count from x402.catalogue_reports where ${what}`;
    return (await database.current.pool.query<{ count: number }>(text)).rows[0]?.count;
  };

  it('are no more than they may be, however many come at once', async () => {
    const reports = new PostgresReports(database.current.db);
    const bounds = { ...REPORT_BOUNDS, ofEntry: 3 };
    const outcomes = await Promise.all(
      Array.from({ length: 8 }, (_, index) => reports.add(report(index), bounds)),
    );
    expect(outcomes.filter((one) => one === 'added')).toHaveLength(3);
    expect(await count('true')).toBe(3);
  });

  it('forget who reported once the day is over, and the oldest that are closed', async () => {
    const reports = new PostgresReports(database.current.db);
    await reports.add(report(1), REPORT_BOUNDS);
    await reports.add(report(1, NOON + 86_400_000), REPORT_BOUNDS);
    expect(await count('reporter is null')).toBe(1);
    const id = entryIdNamed(report(1).entry).toString('hex');
    const dismissal = { id, reason: 'nothing found', by: 'night-shift', at: new Date() };
    expect(await reports.dismiss(dismissal, { ...REPORT_BOUNDS, closed: 1 })).toBe(2);
    expect(await count('true')).toBe(1);
  });
});

describe('moderation in PostgreSQL', () => {
  const denial: Denial = {
    ...{ kind: 'host', value: 'shop.example.com', reason: 'spam', by: 'night-shift' },
    at: new Date(),
  };

  it('does nothing that it cannot note', async () => {
    await database.current.pool.query(
      `create function x402.refuse() returns trigger language plpgsql as
        $$ begin raise exception 'no' using errcode = '53100'; end $$;
      create trigger refuse before insert on x402.audit for each row execute function x402.refuse();`,
    );
    const store = new PostgresModeration(database.current.db);
    await expect(store.deny(denial, 9)).rejects.toMatchObject({ sqlState: '53100' });
    expect(await store.denials({}, undefined, 9)).toEqual([]);
  });

  it('is in the list of what operators did, of no network', async () => {
    await new PostgresModeration(database.current.db).deny(denial, 9);
    const none = { chainId: undefined, by: undefined, from: undefined, to: undefined };
    const found = await auditRows(
      database.current.db,
      { ...none, subject: 'host:shop.example.com' },
      undefined,
      9,
    );
    expect(found).toMatchObject([
      { chainId: undefined, by: 'night-shift', action: 'catalogue_denied', reason: 'spam' },
    ]);
    const ofChain = { ...none, chainId: 56, subject: undefined };
    expect(await auditRows(database.current.db, ofChain, undefined, 9)).toEqual([]);
  });

  it('has rows that were written by hand', async () => {
    await database.current.pool.query(
      `insert into x402.catalogue_denials (kind, value, reason) values ('host', 'b.example.org', '')`,
    );
    const store = new PostgresModeration(database.current.db);
    expect(await store.denials({}, undefined, 9)).toMatchObject([
      { value: 'b.example.org', reason: '', by: '' },
    ]);
  });
});
