import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Address } from 'viem';
import { type SandboxPostgres, startPostgres } from '../../sandbox/postgres.js';
import { connectDatabase, type Database } from '../../src/history/postgres/database.js';
import { PostgresArchive } from '../../src/history/postgres/postgres-archive.js';
import { PostgresSettlementReader } from '../../src/history/postgres/postgres-settlement-reader.js';
import type { SettlementFilter } from '../../src/history/sellers/settlement-filter.js';
import type { Position, SettlementReader } from '../../src/history/sellers/settlement-reader.js';
import { rowOf, type SettlementRow } from '../../src/history/settlement-row.js';
import { Secret } from '../../src/platform/config/secret.js';
import type { Change } from '../../src/settlement/ledger/outbox.js';
import { aRecorded, CLAIMED_AT } from '../builders/history/recorded-settlement.js';
import { MemorySettlementReader } from '../builders/history/sellers/settlement-reader.js';

const DAY_MS = 86_400_000;
const addressOf = (byte: number): Address => `0x${byte.toString(16).padStart(2, '0').repeat(20)}`;
const PAYEES = [1, 2, 3].map(addressOf);
const ASSETS = [0xa1, 0xa2].map(addressOf);
const STATES = ['finalized', 'finalized', 'finalized', 'included', 'reverted'] as const;
const ROWS = 600;

/** Lists of the archive, held against lists of the same rows in memory. */
describe('lists in PostgreSQL', () => {
  let postgres: SandboxPostgres;
  let database: Database;
  let reader: SettlementReader;
  let memory: MemorySettlementReader;

  beforeAll(async () => {
    postgres = await startPostgres();
    database = connectDatabase(new Secret(postgres.url));
    reader = new PostgresSettlementReader(database);
    const archive = new PostgresArchive(
      database,
      { history: { migrates: true, months: undefined } },
      { now: () => CLAIMED_AT },
    );
    await archive.open();
    const rows: SettlementRow[] = [];
    for (const chainId of [56, 97]) {
      const epoch = await archive.epochNumber({ chainId, epoch: 'first' });
      const changes = Array.from({ length: ROWS / 2 }, (_, index) => change(chainId, index));
      for (let from = 0; from < changes.length; from += 100) {
        await archive.store(chainId, epoch, changes.slice(from, from + 100));
      }
      rows.push(...changes.map((one) => rowOf(chainId, epoch, one)));
    }
    memory = new MemorySettlementReader(rows);
    await database.pool.query('analyze x402.settlements');
  });
  afterAll(async () => {
    await database.db.destroy();
    await postgres.stop();
  });

  /** Over three months, several of one moment, some without a payment. */
  function change(chainId: number, index: number): Extract<Change, { readonly kind: 'recorded' }> {
    const state = STATES[(index * 7) % STATES.length] ?? 'finalized';
    const base = aRecorded(`${chainId} ${index}`, state);
    const claimed = CLAIMED_AT - (index >> 2) * DAY_MS;
    const details = base.details && {
      ...base.details,
      chainId,
      amount: base.details.amount - BigInt(index),
      token: ASSETS[(index * 5) % ASSETS.length] ?? addressOf(0),
      payTo: PAYEES[(index * 3 + (index >> 3)) % PAYEES.length] ?? addressOf(0),
    };
    return {
      kind: 'recorded',
      id: base.view.id,
      version: { ms: 1, sequence: index },
      settlement: {
        ...base,
        details: index % 50 === 49 ? undefined : details,
        times: { ...base.times, claimed },
      },
    };
  }

  const filter = (more: Partial<SettlementFilter> = {}): SettlementFilter => ({
    payees: PAYEES,
    payTo: undefined,
    from: undefined,
    to: undefined,
    state: undefined,
    asset: undefined,
    chainId: undefined,
    ...more,
  });

  const FILTERS: Partial<SettlementFilter>[] = [
    {},
    { payees: PAYEES.slice(0, 1) },
    { payees: [addressOf(9)] },
    { state: 'finalized' },
    { state: 'reverted', payees: PAYEES.slice(1) },
    { asset: ASSETS[1], chainId: 97 },
    { from: CLAIMED_AT - 40 * DAY_MS, to: CLAIMED_AT - 10 * DAY_MS },
    { from: CLAIMED_AT },
    { to: CLAIMED_AT },
    { from: CLAIMED_AT - 12_345, state: 'expired' },
  ];

  it.each(FILTERS)('are those in memory, page by page: %j', async (asked) => {
    for (const most of [1000, 7]) {
      let after: Position | undefined;
      do {
        const [found, wanted] = await Promise.all([
          reader.page(filter(asked), after, most),
          memory.page(filter(asked), after, most),
        ]);
        expect(found).toEqual(wanted);
        after = found.length < most ? undefined : found.at(-1)?.position;
      } while (after !== undefined);
    }
  });

  it.each(FILTERS)('have the totals of those in memory: %j', async (asked) => {
    for (const byDay of [true, false]) {
      for (const byPayee of [true, false]) {
        for (const most of [100_000, 3]) {
          const [found, wanted] = await Promise.all([
            reader.totals(filter(asked), { byDay, byPayee }, most),
            memory.totals(filter(asked), { byDay, byPayee }, most),
          ]);
          expect(found).toEqual(wanted);
        }
      }
    }
  });

  it('find one by its id', async () => {
    const [row] = memory.rows;
    const id = row?.id.toString('base64url') ?? '';
    expect(await reader.byId(id)).toEqual(await memory.byId(id));
    expect(await reader.byId('A'.repeat(43))).toBeUndefined();
  });

  it('hold enough to tell', async () => {
    const count = async (asked: Partial<SettlementFilter>) =>
      (await reader.page(filter(asked), undefined, 1000)).length;
    expect(await count({})).toBe(ROWS - ROWS / 50);
    expect(await count({ state: 'reverted' })).toBeGreaterThan(50);
    expect(await count({ state: 'expired' })).toBe(0);
  });

  it('of a payee can be read in the order of the index, without a sort', async () => {
    const client = await database.pool.connect();
    const plan = async (condition: string): Promise<string> => {
      const { rows } = await client.query<Record<string, string>>(
        `explain select * from x402.settlements where pay_to = '\\x${'01'.repeat(20)}' ${condition}
          order by claimed_at desc, id desc limit 100`,
      );
      return rows.map((row) => row['QUERY PLAN']).join('\n');
    };
    try {
      // Of so few rows any way is cheap; what is asked is whether this one is there.
      for (const name of ['seqscan', 'bitmapscan', 'sort']) {
        await client.query(`set enable_${name} = off`);
      }
      expect(await plan('')).not.toContain('Sort ');
      const ofState = await plan(`and state = 'reverted'`);
      expect(ofState).toContain('pay_to_state');
      expect(ofState).not.toContain('Sort ');
    } finally {
      client.release(true);
    }
  });
});
