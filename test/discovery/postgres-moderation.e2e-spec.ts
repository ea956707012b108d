import { describe, expect, it } from '@jest/globals';
import type { Denial } from '../../src/discovery/operators/moderation-store.js';
import { PostgresCatalogue } from '../../src/discovery/postgres/postgres-catalogue.js';
import { PostgresCatalogueReader } from '../../src/discovery/postgres/postgres-catalogue-reader.js';
import { PostgresModeration } from '../../src/discovery/postgres/postgres-moderation.js';
import { auditRows } from '../../src/history/postgres/postgres-operator-archive.js';
import { freshDatabase } from '../support/fresh-database.js';
import type { Noted } from '../twins/discovery/operators/memory-moderation.js';
import { moderationContract } from '../twins/discovery/operators/moderation-contract.js';

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

describe('moderation in PostgreSQL', () => {
  const denial: Denial = {
    kind: 'host',
    value: 'shop.example.com',
    reason: 'spam',
    by: 'night-shift',
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
