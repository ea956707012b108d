import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Hex } from 'viem';
import { type SandboxPostgres, startPostgres } from '../../sandbox/postgres.js';
import { ArchiveError } from '../../src/history/archive.js';
import { holdsAllOf } from '../../src/history/archived-row.js';
import { connectDatabase, connectReader } from '../../src/history/postgres/database.js';
import { PostgresArchive } from '../../src/history/postgres/postgres-archive.js';
import { PostgresArchiveReader } from '../../src/history/postgres/postgres-archive-reader.js';
import { aRecorded, CLAIMED_AT, idOf } from '../../src/history/recorded-settlement.builder.js';
import { Secret } from '../../src/platform/config/secret.js';
import { hashOf } from '../../src/protocol/payment/hash.js';
import type { ArchiveQuery } from '../../src/settlement/ledger/settlement-archive.js';
import type { RecordedSettlement } from '../../src/settlement/model/recorded-settlement.js';

const MONTH_MS = 31 * 86_400_000;
const hashNamed = (byte: string): Hex => `0x${byte.repeat(32)}`;

/** A paid settlement of its own transaction, at some month. */
function aPaid(name: string, byte: string, months = 0): RecordedSettlement {
  const { view, details, times, ...rest } = aRecorded(name, 'finalized');
  const claimed = CLAIMED_AT + months * MONTH_MS;
  return {
    ...{ ...rest, times: { ...times, claimed } },
    view: { ...view, transaction: hashNamed(byte) },
    details: details && {
      ...{ ...details, hashes: [hashNamed('11'), hashNamed(byte)] },
      blockHash: rest.blockHash,
      times: { ...details.times, claimed, included: times.included, finished: times.finished },
    },
  };
}

describe('look-ups in PostgreSQL', () => {
  let postgres: SandboxPostgres;
  let archive: PostgresArchive;
  let reader: PostgresArchiveReader;
  let sequence = 0;

  beforeAll(async () => {
    postgres = await startPostgres();
    const url = new Secret(postgres.url);
    archive = new PostgresArchive({
      database: connectDatabase(url),
      ...{ migrates: true, months: undefined, now: () => CLAIMED_AT },
    });
    await archive.open();
    reader = new PostgresArchiveReader(connectReader(url, 500));
  });
  afterAll(async () => {
    await Promise.all([archive.close(), reader.close()]);
    await postgres.stop();
  });

  async function store(chainId: number, ...settlements: RecordedSettlement[]): Promise<void> {
    const epoch = await archive.epochNumber({ chainId, epoch: 'first' });
    const changes = settlements.map((settlement) => {
      sequence += 1;
      const version = { ms: 1000, sequence };
      return { kind: 'recorded', id: settlement.view.id, version, settlement } as const;
    });
    await archive.store(chainId, epoch, changes);
  }
  const namesOf = async (query: ArchiveQuery) =>
    (await reader.find(query)).map(({ view }) => view.id);

  it('by id give back all that was stored, whichever month it is in', async () => {
    const stored = [aPaid('a', 'a1'), aPaid('b', 'a2', -1), aPaid('c', 'a3', 1)];
    await store(56, ...stored);
    const ids = stored.map(({ view }) => view.id);
    const found = await reader.find({ by: 'id', chainId: 56, ids });
    expect(found.map(({ view }) => view.id).sort()).toEqual([...ids].sort());
    for (const settlement of stored) {
      const read = found.find(({ view }) => view.id === settlement.view.id);
      expect(read).toEqual({ chainId: 56, ...settlement });
      expect(read && holdsAllOf(read, settlement)).toBe(true);
    }
    expect(await namesOf({ by: 'id', chainId: 97, ids })).toEqual([]);
    expect(await namesOf({ by: 'id', chainId: 56, ids: [] })).toEqual([]);
    expect(await namesOf({ by: 'id', chainId: 56, ids: [idOf('unknown')] })).toEqual([]);
  });

  it('by authorization name the one that was sold first, then what was paid, then the newest', async () => {
    const authorizationId = hashOf(['authorization', 'shared']);
    const of = (name: string, months: number, more: Partial<RecordedSettlement> = {}) => ({
      ...{ ...aPaid(name, 'b1', months), authorizationId, ...more },
    });
    const open = (one: RecordedSettlement): RecordedSettlement => ({
      ...one,
      view: { ...one.view, sale: { ...one.view.sale, state: 'open' } },
    });
    await store(
      56,
      { ...aRecorded('reverted', 'reverted'), authorizationId },
      open(of('paid', 1)),
      of('sold', 0),
    );
    const query = {
      by: 'authorization',
      chainId: 56,
      authorizationIds: [authorizationId],
    } as const;
    expect(await namesOf(query)).toEqual(['sold', 'paid', 'reverted'].map(idOf));
    expect(await namesOf({ ...query, chainId: 97 })).toEqual([]);
  });

  it('by transaction find what it carries, and what it carried before it was replaced', async () => {
    await store(97, aPaid('d', 'd1'), aPaid('e', 'd1'));
    const adopted = { ...aPaid('f', 'd2'), details: undefined };
    await store(97, adopted);
    const by = (byte: string) =>
      namesOf({ by: 'transaction', chainId: 97, transaction: hashNamed(byte) });
    expect((await by('d1')).sort()).toEqual(['d', 'e'].map(idOf).sort());
    expect((await by('11')).sort()).toEqual(['d', 'e'].map(idOf).sort());
    expect(await by('d2')).toEqual([idOf('f')]);
    expect(await by('d3')).toEqual([]);
  });

  it('by key find what it was bound to, and what was sold to it, on any chain', async () => {
    const keyTag = hashOf(['key', 'of an order']);
    const with_ = (name: string, sale: object): RecordedSettlement => {
      const one = aPaid(name, 'e1');
      return { ...one, view: { ...one.view, sale: { ...one.view.sale, ...sale } } };
    };
    await store(56, with_('g', { boundKeyTag: keyTag, soldKeyTag: undefined }));
    await store(97, with_('h', { soldKeyTag: keyTag, boundKeyTag: undefined }));
    expect((await namesOf({ by: 'key', keyTag })).sort()).toEqual(['g', 'h'].map(idOf).sort());
    expect(await namesOf({ by: 'key', keyTag: hashOf(['key', 'of nobody']) })).toEqual([]);
  });

  it('by time name the newest first, of all or of one payer', async () => {
    const payer: Hex = `0x${'77'.repeat(20)}`;
    const of = (name: string, months: number): RecordedSettlement => {
      const one = aPaid(name, 'f1', months);
      return { ...one, details: one.details && { ...one.details, payer } };
    };
    await store(1, of('i', -2), aPaid('j', 'f2', 1), of('k', 0));
    const query = { by: 'time', chainId: 1, payer: undefined, most: 2 } as const;
    expect(await namesOf(query)).toEqual(['j', 'k'].map(idOf));
    expect(await namesOf({ ...query, payer, most: 9 })).toEqual(['k', 'i'].map(idOf));
  });

  it('change nothing, and take no longer than they may', async () => {
    const { pool, db } = connectReader(new Secret(postgres.url), 200);
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

  it('say what is wrong with a database that is away', async () => {
    const { port } = new URL(postgres.url);
    const elsewhere = postgres.url.replace(`:${port}`, ':1');
    const away = new PostgresArchiveReader(connectReader(new Secret(elsewhere), 200));
    await expect(away.find({ by: 'id', chainId: 56, ids: [idOf('a')] })).rejects.toThrow(
      ArchiveError,
    );
    await away.close();
  });
});
