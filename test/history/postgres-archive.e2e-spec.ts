import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type SandboxPostgres, startPostgres } from '../../sandbox/postgres.js';
import { ArchiveError } from '../../src/history/archive.js';
import { connectDatabase, type Database } from '../../src/history/postgres/database.js';
import { checkMigrated, migrate, migrations } from '../../src/history/postgres/migrator.js';
import { PostgresArchive } from '../../src/history/postgres/postgres-archive.js';
import { PostgresArchiveReader } from '../../src/history/postgres/postgres-archive-reader.js';
import { PostgresSettlementHistory } from '../../src/history/postgres/postgres-settlement-history.js';
import { PostgresSettlementReader } from '../../src/history/postgres/postgres-settlement-reader.js';
import { Secret } from '../../src/platform/config/secret.js';
import { POOLS } from '../../src/platform/database/database-pools.js';
import type { Change } from '../../src/settlement/ledger/outbox.js';
import type { RecordedSettlement } from '../../src/settlement/model/recorded-settlement.js';
import { aRecorded, CLAIMED_AT, idOf } from '../builders/history/recorded-settlement.js';
import { ARCHIVE_NOW, describeArchive } from '../twins/history/archive-contract.js';
import { describeSettlementHistory } from '../twins/history/reconciliation/settlement-history-contract.js';

const CHAIN_ID = 56;

describe('the archive in PostgreSQL', () => {
  let postgres: SandboxPostgres;
  let database: Database;
  let archive: PostgresArchive;
  let epoch: number;
  const now = ARCHIVE_NOW;

  beforeAll(async () => {
    postgres = await startPostgres();
  });
  afterAll(() => postgres.stop());

  beforeEach(async () => {
    database = connectDatabase(new Secret(postgres.url));
    await database.pool.query('drop schema if exists x402 cascade');
    archive = opened(undefined);
    await archive.open();
    epoch = await archive.epochNumber({ chainId: CHAIN_ID, epoch: 'first' });
  });
  afterEach(() => database.db.destroy());

  const opened = (months: number | undefined, migrates = true) =>
    new PostgresArchive(database, { history: { migrates, months } }, { now: () => now });

  const change = (settlement: RecordedSettlement, sequence: number, ms = 1000): Change => ({
    kind: 'recorded',
    id: settlement.view.id,
    version: { ms, sequence },
    settlement,
  });

  async function query<T extends object>(text: string): Promise<T[]> {
    return (await database.pool.query<T>(text)).rows;
  }
  const states = async () =>
    (await query<{ state: string }>('select state from x402.settlements order by 1')).map(
      ({ state }) => state,
    );
  const partitions = async () =>
    (
      await query<{ relname: string }>(
        `select relname from pg_class where relname ~ '^settlements_2\\d*_\\d*$' order by 1`,
      )
    ).map(({ relname }) => relname);

  describeArchive('the archive in PostgreSQL', () => {
    const { pool, db } = connectDatabase(new Secret(postgres.url), POOLS.lookUps);
    return Promise.resolve({
      archive,
      keeping: opened,
      reader: new PostgresArchiveReader({ pool, db }),
      lists: () => new PostgresSettlementReader({ pool, db }),
      unreadable: async () =>
        (await query<{ id: string }>('select id from x402.unreadable_records')).map(({ id }) => id),
      close: () => db.destroy(),
    });
  });

  describeSettlementHistory('books in PostgreSQL', () =>
    Promise.resolve({
      books: new PostgresSettlementHistory(database),
      book: async (entries) => {
        const booked = new Map<number, Change[]>();
        for (const { name, chainId, claimedAt: claimed, block: blockNumber } of entries) {
          const base = aRecorded(name, blockNumber === undefined ? 'expired' : 'finalized');
          const settlement = {
            ...base,
            times: { ...base.times, claimed },
            view: { ...base.view, blockNumber },
          };
          const known = booked.get(chainId) ?? [];
          known.push(change(settlement, 1));
          booked.set(chainId, known);
        }
        for (const [chainId, changes] of booked) await archive.store(chainId, epoch, changes);
      },
      close: () => Promise.resolve(),
    }),
  );

  it('keeps every field of a settlement in its column', async () => {
    const result = await archive.store(CHAIN_ID, epoch, [change(aRecorded('a', 'finalized'), 1)]);
    expect(result).toEqual({ written: 1, stale: 0, expired: 0, unreadable: 0 });
    expect(await query('select * from x402.settlements')).toMatchObject([
      {
        id: Buffer.from(idOf('a'), 'base64url'),
        claimed_at: new Date(CLAIMED_AT),
        chain_id: '56',
        state: 'finalized',
        is_paid: true,
        is_told: true,
        is_kept: false,
        sale: 'sold',
        sold_to: 'process.1',
        block_number: '7',
        log_index: 3,
        batch_size: 1,
        scheme: 'exact',
        method: 'eip3009',
        reason: null,
        amount: (2n ** 256n - 1n).toString(),
        payer: Buffer.alloc(20, 0xb2),
        pay_to: Buffer.alloc(20, 0xc3),
        transaction: Buffer.alloc(32, 0xab),
        transactions: [Buffer.alloc(32, 0xab)],
        block_hash: Buffer.alloc(32, 0xcd),
        finished_at: new Date(CLAIMED_AT + 1500),
      },
    ]);
  });

  it('two that store the same at once, in any order, leave one row each of the newest', async () => {
    const other = opened(undefined);
    const names = Array.from({ length: 60 }, (_, index) => `s${index}`);
    const older = names.map((name) => change(aRecorded(name, 'included'), 1));
    const newer = names.map((name) => change(aRecorded(name, 'finalized'), 2)).reverse();
    await Promise.all([
      archive.store(CHAIN_ID, epoch, older),
      other.store(CHAIN_ID, epoch, newer),
      archive.store(CHAIN_ID, epoch, newer),
      other.store(CHAIN_ID, epoch, older),
    ]);
    expect(await states()).toEqual(names.map(() => 'finalized'));
  });

  it('keeps what no row can be made of as it was, and the others beside it', async () => {
    const changes = ['a', 'b', 'c', 'd', 'e'].map((name, index) => change(aRecorded(name), index));
    const tooLarge = aRecorded('f');
    const { details } = tooLarge;
    if (details === undefined) throw new Error('no details');
    const result = await archive.store(CHAIN_ID, epoch, [
      ...changes,
      change({ ...tooLarge, details: { ...details, amount: 10n ** 78n } }, 6),
      change(aRecorded('g', 'broadcast', { authorizationId: 'short' }), 7),
      { kind: 'unreadable', id: 'h', version: { ms: 1, sequence: 1 }, text: '["x"]' },
    ]);
    expect(result).toEqual({ written: 5, stale: 0, expired: 0, unreadable: 3 });
    const kept = await query<{ id: string; record: string }>(
      'select id, record from x402.unreadable_records order by version_sequence',
    );
    expect(kept.map(({ id }) => id)).toEqual(['h', idOf('f'), idOf('g')]);
    expect(kept[1]?.record).toContain((10n ** 78n).toString());
  });

  it('makes months ahead, makes those that are missing, and drops those that are over', async () => {
    await archive.upkeep(now);
    const ahead = ['settlements_2026_11', 'settlements_2026_12', 'settlements_2027_01'];
    expect(await partitions()).toEqual(ahead);
    const old = aRecorded('old', 'finalized', {
      times: { claimed: Date.UTC(2026, 7, 31, 23, 59), included: undefined, finished: undefined },
    });
    await archive.store(CHAIN_ID, epoch, [change(old, 1), change(aRecorded('a'), 2)]);
    expect(await partitions()).toEqual(['settlements_2026_08', ...ahead]);
    const bounded = opened(1);
    await bounded.upkeep(now);
    expect(await partitions()).toEqual(ahead);
    expect(await states()).toEqual(['broadcast']);
    expect(await query('select id from x402.settlement_ids')).toHaveLength(1);
    // A settlement of a dropped month does not come back.
    expect(await bounded.store(CHAIN_ID, epoch, [change(old, 3)])).toMatchObject({ expired: 1 });
    expect(await partitions()).toEqual(ahead);
  });

  it('is migrated once by many at once, and by hand where that is wanted', async () => {
    await database.pool.query('drop schema x402 cascade');
    await expect(opened(undefined, false).open()).rejects.toMatchObject({
      condition: 'schema_outdated',
    });
    const applied = await Promise.all([1, 2, 3].map(() => migrate(database.pool)));
    expect(applied.flat()).toEqual(migrations().map(({ name }) => name));
    await checkMigrated(database.pool);
    await database.pool.query(`update x402.migrations set digest = 'of another text'`);
    await expect(opened(undefined).open()).rejects.toMatchObject({ condition: 'schema_outdated' });
  });

  it('is read by who changes nothing, and takes no longer than it may', async () => {
    const { pool, db } = connectDatabase(new Secret(postgres.url), POOLS.lookUps);
    try {
      await expect(pool.query('delete from x402.settlements')).rejects.toMatchObject({
        code: '25006',
      });
      const from = performance.now();
      await expect(pool.query('select pg_sleep(5)')).rejects.toThrow();
      expect(performance.now() - from).toBeLessThan(2000);
    } finally {
      await db.destroy();
    }
  });

  it('is read as away where it cannot be reached', async () => {
    const { port } = new URL(postgres.url);
    const elsewhere = postgres.url.replace(`:${port}`, ':1');
    const nowhere = connectDatabase(new Secret(elsewhere), POOLS.lookUps);
    const away = new PostgresArchiveReader(nowhere);
    await expect(away.find({ by: 'id', chainId: 56, ids: [idOf('a')] })).rejects.toThrow(
      ArchiveError,
    );
    await nowhere.db.destroy();
  });

  it('says by a code that the database cannot be reached, and never its password', async () => {
    const url = new URL(postgres.url);
    url.password = 'guessed-password';
    const refused = connectDatabase(new Secret(url.href));
    const stranger = new PostgresArchive(
      refused,
      { history: { migrates: true, months: undefined } },
      { now: () => now },
    );
    const failure: unknown = await stranger.open().catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: 'archive_unavailable', sqlState: '28P01' });
    expect(String(failure)).not.toContain('guessed-password');
    await refused.db.destroy();
  });
});
