import { describe, expect, it } from '@jest/globals';
import { PostgresCalls } from '../../src/discovery/postgres/postgres-calls.js';
import { PostgresCatalogue } from '../../src/discovery/postgres/postgres-catalogue.js';
import { PostgresCatalogueReader } from '../../src/discovery/postgres/postgres-catalogue-reader.js';
import { PostgresArchive } from '../../src/history/postgres/postgres-archive.js';
import { aRecorded } from '../builders/history/recorded-settlement.js';
import { freshDatabase } from '../support/fresh-database.js';
import { callsContract } from '../twins/discovery/quality/calls-contract.js';
import { type MadeSettlement, SETTLE_MS } from '../twins/discovery/quality/memory-calls.js';

const database = freshDatabase();
let version = 0;

callsContract('in PostgreSQL', async () => {
  const { db } = database.current;
  const archive = new PostgresArchive(
    database.current,
    { history: { migrates: false, months: undefined } },
    { now: () => Date.now() },
  );
  const epoch = await archive.epochNumber({ chainId: 56, epoch: 'first' });
  const writer = new PostgresCatalogue(db, { entriesPerPayee: 9 });
  const reader = new PostgresCatalogueReader(db);
  return {
    catalogue: {
      outcomes: (...args) => writer.outcomes(...args),
      update: (...args) => writer.update(...args),
      forget: (...args) => writer.forget(...args),
      page: (...args) => reader.page(...args),
    },
    calls: new PostgresCalls(db),
    settle: async (settlements) => {
      await archive.store(
        56,
        epoch,
        settlements.map((one) => {
          version += 1;
          return {
            kind: 'recorded',
            id: one.id,
            version: { ms: version, sequence: 0 },
            settlement: recordedOf(one),
          };
        }),
      );
    },
  };
});

function recordedOf({ id, payer, payTo, state, claimedAt }: MadeSettlement) {
  const made = aRecorded(id, state);
  const { details } = made;
  if (details === undefined) throw new Error('a settlement has details');
  const isPaid = state === 'included' || state === 'finalized';
  return {
    ...made,
    details: { ...details, payer, payTo, amount: 1n },
    times: {
      claimed: claimedAt,
      included: isPaid ? claimedAt + SETTLE_MS : undefined,
      finished: state === 'finalized' ? claimedAt + 1500 : undefined,
    },
  };
}

describe('a long list', () => {
  it('is read in the order of scores by an index, beginning and middle', async () => {
    const { db, pool } = database.current;
    await pool.query(`
      insert into x402.catalogue_entries (id, chain_id, pay_to, place, type, x402_version, resource,
        host, listing, declared_at, first_paid_at, last_paid_at, names, places, words, score)
      select sha256(n::text::bytea), 56, substring(sha256((n % 5000)::text::bytea) for 20),
        sha256(('p' || n)::bytea), 'http', 2, 'https://shop.example.com/' || n, 'shop.example.com',
        '{"type":"http","resource":"https://shop.example.com/' || n || '"}', now(), now(),
        now() - n * interval '1 second', 'shop', 'shop ' || n, 'words', (n * 7919) % 1000
      from generate_series(1, 20000) n`);
    await pool.query('analyze x402.catalogue_entries');
    const reader = new PostgresCatalogueReader(db);
    const filter = { since: new Date(Date.now() - 30 * 86_400_000) };
    const after = { score: 500, paidAt: Date.now() + 1000, id: 'ff'.repeat(32) };
    const pages = [
      await reader.page(filter, { offset: 0 }, 100),
      await reader.page(filter, { after }, 100),
    ];
    expect(pages.map((page) => page.map(({ position }) => position.score))).toEqual([
      // Twenty of each score.
      Array.from({ length: 100 }, (_, n) => 999 - Math.floor(n / 20)),
      Array.from({ length: 100 }, (_, n) => 500 - Math.floor(n / 20)),
    ]);
    const { rows } = await pool.query<{ 'QUERY PLAN': string }>(
      `explain select * from x402.catalogue_entries where last_paid_at >= now() - interval '30 days'
         and (score, last_paid_at, id) < (500, now(), '\\xff')
       order by score desc, last_paid_at desc, id desc limit 100`,
    );
    const plan = rows.map((row) => row['QUERY PLAN']).join();
    expect(plan).toContain('Index Scan using catalogue_entries_best');
    expect(plan).not.toContain('Sort');
  });
});
