import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Address } from 'viem';
import { type SandboxPostgres, startPostgres } from '../../sandbox/postgres.js';
import type {
  OperatorArchive,
  SearchFilter,
} from '../../src/history/operators/operator-archive.js';
import { connectDatabase, type Database } from '../../src/history/postgres/database.js';
import { PostgresArchive } from '../../src/history/postgres/postgres-archive.js';
import { PostgresAudit } from '../../src/history/postgres/postgres-audit.js';
import { PostgresOperatorArchive } from '../../src/history/postgres/postgres-operator-archive.js';
import { PostgresSettlementHistory } from '../../src/history/postgres/postgres-settlement-history.js';
import type { Position } from '../../src/history/sellers/settlement-reader.js';
import { rowOf } from '../../src/history/settlement-row.js';
import { Secret } from '../../src/platform/config/secret.js';
import type { Change } from '../../src/settlement/ledger/outbox.js';
import type { SettlementDetails } from '../../src/settlement/model/settlement.js';
import { MemoryOperatorArchive } from '../builders/history/operators/operator-archive.js';
import { aRecorded, CLAIMED_AT, idOf } from '../builders/history/recorded-settlement.js';

const DAY_MS = 86_400_000;
const addressOf = (byte: number): Address => `0x${byte.toString(16).padStart(2, '0').repeat(20)}`;
const PAYEES = [1, 2, 3].map(addressOf);
const PAYERS = [0xb1, 0xb2].map(addressOf);
const ASSETS = [0xa1, 0xa2].map(addressOf);
const STATES = ['finalized', 'finalized', 'finalized', 'included', 'reverted'] as const;
/** Among ten settlements, by their place. */
const CHANNEL_ACTIONS: Readonly<
  Record<number, Pick<SettlementDetails, 'scheme' | 'method'> | undefined>
> = {
  3: { scheme: 'batch-settlement', method: 'channel-claim' },
  4: { scheme: 'batch-settlement', method: 'eip3009' },
  5: { scheme: 'batch-settlement', method: 'permit2' },
};
const ROWS = 300;
const uuid = (index: number): string =>
  `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`;

/** What operators read of PostgreSQL, held against the same in memory. */
describe('the history of operators in PostgreSQL', () => {
  let postgres: SandboxPostgres;
  let database: Database;
  let archive: OperatorArchive;
  const memory = new MemoryOperatorArchive();

  beforeAll(async () => {
    postgres = await startPostgres();
    database = connectDatabase(new Secret(postgres.url));
    archive = new PostgresOperatorArchive(database, database);
    const store = new PostgresArchive(
      database,
      { history: { migrates: true, months: undefined } },
      { now: () => CLAIMED_AT },
    );
    await store.open();
    for (const chainId of [56, 97]) {
      const epoch = await store.epochNumber({ chainId, epoch: 'first' });
      const changes = Array.from({ length: ROWS / 2 }, (_, index) => change(chainId, index));
      await store.store(chainId, epoch, changes);
      memory.rows.push(...changes.map((one) => rowOf(chainId, epoch, one)));
    }
    await database.pool.query('analyze x402.settlements');
  });
  afterAll(async () => {
    await database.db.destroy();
    await postgres.stop();
  });

  /** Several of one moment, some without a payment. */
  function change(chainId: number, index: number): Extract<Change, { readonly kind: 'recorded' }> {
    const state = STATES[(index * 7) % STATES.length] ?? 'finalized';
    const base = aRecorded(`${chainId} ${index}`, state);
    const details = base.details && {
      ...base.details,
      ...CHANNEL_ACTIONS[index % 10],
      chainId,
      amount: base.details.amount - BigInt(index),
      token: ASSETS[(index * 5) % ASSETS.length] ?? addressOf(0),
      payer: PAYERS[(index >> 4) % PAYERS.length] ?? addressOf(0),
      payTo: PAYEES[(index * 3 + (index >> 3)) % PAYEES.length] ?? addressOf(0),
    };
    return {
      kind: 'recorded',
      id: base.view.id,
      version: { ms: 1, sequence: index },
      settlement: {
        ...base,
        details: index % 50 === 49 ? undefined : details,
        times: { ...base.times, claimed: CLAIMED_AT - (index >> 2) * DAY_MS },
      },
    };
  }

  const filter = (more: Partial<SearchFilter> = {}): SearchFilter => ({
    payTo: undefined,
    payer: undefined,
    from: undefined,
    to: undefined,
    state: undefined,
    asset: undefined,
    chainId: undefined,
    ...more,
  });
  const FILTERS: Partial<SearchFilter>[] = [
    {},
    { payTo: PAYEES[0] },
    { payer: PAYERS[1] },
    { payTo: PAYEES[1], payer: PAYERS[0], state: 'reverted' },
    { payTo: addressOf(9) },
    { state: 'finalized' },
    { state: 'reverted' },
    { scheme: 'exact' },
    { scheme: 'batch-settlement', state: 'finalized' },
    { action: 'claim' },
    { action: 'deposit', chainId: 97 },
    { asset: ASSETS[1], chainId: 97 },
    { from: CLAIMED_AT - 20 * DAY_MS, to: CLAIMED_AT - 10 * DAY_MS },
    { from: CLAIMED_AT - 12_345, state: 'expired' },
  ];

  it.each(FILTERS)('finds what memory finds, page by page: %j', async (asked) => {
    for (const most of [1000, 7]) {
      let after: Position | undefined;
      do {
        const [found, wanted] = await Promise.all([
          archive.page(filter(asked), after, most),
          memory.page(filter(asked), after, most),
        ]);
        expect(found).toEqual(wanted);
        after = found.length < most ? undefined : found.at(-1)?.position;
      } while (after !== undefined);
    }
  });

  it.each(FILTERS)('sums up what memory does: %j', async (asked) => {
    const grouping = { byDay: true, byPayee: false };
    const [found, wanted] = await Promise.all([
      archive.totals(filter(asked), grouping, 10_000),
      memory.totals(filter(asked), grouping, 10_000),
    ]);
    expect(found).toEqual(wanted);
  });

  it('holds enough to tell', async () => {
    const count = async (asked: Partial<SearchFilter>): Promise<number> =>
      (await archive.page(filter(asked), undefined, 1000)).length;
    expect(await count({})).toBe(ROWS);
    expect(await count({ state: 'reverted' })).toBeGreaterThan(20);
    const claims = await count({ action: 'claim' });
    expect(claims).toBeGreaterThan(20);
    expect(await count({ action: 'deposit' })).toBeGreaterThan(claims);
    expect(await count({ payTo: PAYEES[1], payer: PAYERS[0], state: 'reverted' })).toBeGreaterThan(
      0,
    );
  });

  it('reads every list in the order of an index, without a sort', async () => {
    const client = await database.pool.connect();
    const plan = async (text: string): Promise<string> => {
      const { rows } = await client.query<Record<string, string>>(`explain ${text}`);
      return rows.map((row) => row['QUERY PLAN']).join('\n');
    };
    const settlements = (condition: string): Promise<string> =>
      plan(`select * from x402.settlements where ${condition}
        order by claimed_at desc, id desc limit 100`);
    try {
      // Of so few rows any way is cheap; what is asked is whether this one is there.
      for (const name of ['seqscan', 'bitmapscan', 'sort']) {
        await client.query(`set enable_${name} = off`);
      }
      expect(await settlements(`claimed_at >= '2026-11-01'`)).not.toMatch(/Sort(?! Key)/);
      const ofState = await settlements(`state = 'reverted'`);
      expect(ofState).toContain('state');
      expect(ofState).not.toMatch(/Sort(?! Key)/);
      const audit = await plan(
        'select * from x402.audit order by happened_at desc, id desc limit 100',
      );
      expect(audit).toContain('audit_newest');
      expect(audit).not.toMatch(/Sort(?! Key)/);
      const last = await plan(`select * from x402.webhook_deliveries
        where endpoint_id = 'we_1' and tried_at is not null order by tried_at desc limit 1`);
      expect(last).toContain('webhook_deliveries_tried');
      const events = await plan(
        `select * from x402.webhook_events where line = '\\x00' order by sequence limit 100`,
      );
      expect(events).toContain('webhook_events_line');
      const differences = await plan(
        `select * from x402.reconciliation_differences where settlement_id = '\\x00'`,
      );
      expect(differences).toContain('reconciliation_differences_settlement');
    } finally {
      client.release(true);
    }
  });

  it('knows how a settlement was archived', async () => {
    const note = await archive.note(idOf('56 0'));
    expect(note).toMatchObject({ isTold: true, isKept: false });
    expect(note?.archivedAt.getTime()).toBeGreaterThan(Date.now() - 600_000);
    expect(await archive.note(idOf('nobody'))).toBeUndefined();
  });

  it('shows webhooks with their last answers, and what waits for each', async () => {
    await database.pool.query(`
      insert into x402.webhook_endpoints
        (id, owner, url, description, payees, event_types, secret_names, failing_since, disabled_at, disabled_reason)
      values
        ('we_a', 'shop', 'https://a.example/<img src=x>', '', '{}', '{}', '{ws_1}', null, null, null),
        ('we_b', 'shop', 'https://b.example', '', '{}', '{}', '{ws_1}', '2026-11-22T08:00:00Z', null, null),
        ('we_c', 'other', 'https://c.example', '', '{}', '{}', '{ws_1}', '2026-11-21T08:00:00Z',
          '2026-11-22T09:00:00Z', 'failing');
      insert into x402.webhook_events (id, type, line, pay_to, body)
        select 'evt_' || n, case n when 1 then 'settlement.included' else 'settlement.finalized' end,
          '\\x${Buffer.from(idOf('56 0'), 'base64url').toString('hex')}', '\\x01', '{}'
        from generate_series(1, 2) as n;
      insert into x402.webhook_events (id, type, line, body)
        select 'evt_test_' || n, 'webhook.test', '\\x02', '{}' from generate_series(1, 1500) as n;
      insert into x402.webhook_deliveries (endpoint_id, sequence, line, state, attempts, tried_at, status, answer)
        select 'we_a', sequence, line, 'delivered', 1, '2026-11-22T08:00:00Z'::timestamptz + sequence * interval '1 s',
          200 + sequence, 'thanks' from x402.webhook_events where pay_to is not null;
      insert into x402.webhook_deliveries (endpoint_id, sequence, line, state, attempts, tried_at, problem)
        select 'we_b', sequence, line, 'failed', 9, '2026-11-22T08:30:00Z', 'no answer in time'
        from x402.webhook_events where type = 'settlement.included';
      insert into x402.webhook_deliveries (endpoint_id, sequence, line, due_at)
        select 'we_c', sequence, line, '2026-11-22T10:00:00Z' from x402.webhook_events
        where type = 'webhook.test'`);
    const states = await archive.webhooks(
      { owner: undefined, status: undefined, after: undefined },
      10,
    );
    expect(states.map(({ webhook, last, backlog }) => [webhook.id, last, backlog])).toEqual([
      [
        'we_a',
        {
          state: 'delivered',
          status: 202,
          answer: 'thanks',
          at: new Date('2026-11-22T08:00:02Z'),
        },
        { waiting: 0, isMore: false, firstDueAt: undefined },
      ],
      [
        'we_b',
        {
          state: 'failed',
          problem: 'no answer in time',
          at: new Date('2026-11-22T08:30:00Z'),
        },
        { waiting: 0, isMore: false, firstDueAt: undefined },
      ],
      [
        'we_c',
        undefined,
        { waiting: 1000, isMore: true, firstDueAt: new Date('2026-11-22T10:00Z') },
      ],
    ]);
    const idsOf = async (asked: object): Promise<readonly string[]> => {
      const all = { owner: undefined, status: undefined, after: undefined };
      return (await archive.webhooks({ ...all, ...asked }, 10)).map(({ webhook: { id } }) => id);
    };
    expect(await idsOf({ status: 'enabled' })).toEqual(['we_a']);
    expect(await idsOf({ status: 'failing' })).toEqual(['we_b']);
    expect(await idsOf({ status: 'disabled' })).toEqual(['we_c']);
    expect(await idsOf({ owner: 'shop', after: 'we_a' })).toEqual(['we_b']);
    expect(await archive.deliveries('we_a', 'evt_2', 10)).toMatchObject([{ eventId: 'evt_1' }]);
    expect(await archive.deliveries('we_a', 'evt_9', 10)).toBeUndefined();
  });

  it('has the events of one settlement, each with its deliveries', async () => {
    const events = await archive.eventsOf(idOf('56 0'), 10);
    expect(events.map(({ type }) => type)).toEqual(['settlement.included', 'settlement.finalized']);
    expect(events[0]?.deliveries).toMatchObject([
      { webhookId: 'we_a', owner: 'shop', url: 'https://a.example/<img src=x>', status: 201 },
      { webhookId: 'we_b', state: 'failed', problem: 'no answer in time' },
    ]);
    expect(events[1]?.deliveries).toHaveLength(1);
    expect(await archive.eventsOf(idOf('nobody'), 10)).toEqual([]);
  });

  it('has the runs of the reconciliation, and what each found', async () => {
    const books = new PostgresSettlementHistory(database);
    const at = new Date(CLAIMED_AT);
    for (const chainId of [56, 97, 56]) {
      await books.save({
        chainId,
        startedBy: 'daily',
        window: { fromMs: 0, toMs: CLAIMED_AT },
        blocks: { from: 1n, to: 9n, lastHash: `0x${'ef'.repeat(32)}` },
        settlements: 3,
        transactions: 2,
        startedAt: at,
        finishedAt: at,
        lanes: [],
        counts: new Map([
          ['amount_differs', 1],
          ['lane_funded', 1],
        ]),
        findings: [
          { name: 'amount_differs', settlementId: idOf('56 0'), expected: '7', found: '6' },
          { name: 'lane_funded', lane: PAYEES[0], found: '5' },
        ],
      });
    }
    const runs = await archive.runs(undefined, undefined, 10);
    expect(runs.map(({ id, chainId }) => [id, chainId])).toEqual([
      ['3', 56],
      ['2', 97],
      ['1', 56],
    ]);
    expect(runs[0]).toMatchObject({
      differences: 1,
      counts: { amount_differs: 1, lane_funded: 1 },
      blocks: { first: '1', last: '9' },
    });
    expect(await archive.runs(56, '3', 10)).toMatchObject([{ id: '1' }]);
    expect(await archive.run('2')).toEqual(runs[1]);
    expect(await archive.run('999999999999999999')).toBeUndefined();
    expect(await archive.differencesIn('3', 0, 10)).toMatchObject([
      { number: 1, name: 'amount_differs', settlementId: idOf('56 0'), expected: '7', found: '6' },
      { number: 2, isNote: true, lane: PAYEES[0] },
    ]);
    expect(await archive.differencesIn('3', 1, 10)).toHaveLength(1);
    const found = await archive.differencesOf(idOf('56 0'), 10);
    expect(found.map(({ runId }) => runId)).toEqual(['3', '2', '1']);
    expect(await archive.lanesOf('3', 10)).toEqual([]);
  });

  it('has what operators did as memory has it, page by page', async () => {
    const audit = new PostgresAudit(database.db);
    for (const chainId of [56, 97]) {
      const entries = Array.from({ length: 20 }, (_, index) => ({
        id: uuid(chainId * 100 + index),
        // No two of one moment: memory has no second order.
        at: CLAIMED_AT + index * 1000 + chainId,
        by: index % 3 === 0 ? 'day-shift' : 'night-shift',
        action: 'lane_paused',
        subject: `${chainId}:${addressOf(index % 2)}`,
      }));
      await audit.add(chainId, entries);
      memory.audit.push(
        ...entries.map(({ at, ...entry }) => ({ ...entry, chainId, at: new Date(at) })),
      );
    }
    const nothing = {
      chainId: undefined,
      by: undefined,
      subject: undefined,
      from: undefined,
      to: undefined,
    };
    for (const asked of [
      {},
      { chainId: 97, by: 'day-shift' },
      { subject: `56:${addressOf(1)}` },
      { from: new Date(CLAIMED_AT + 5000), to: new Date(CLAIMED_AT + 9000) },
    ]) {
      let before: string | undefined;
      do {
        const all = { ...nothing, ...asked };
        const [found, wanted] = await Promise.all([
          archive.actions(all, before, 7),
          memory.actions(all, before, 7),
        ]);
        expect(found).toEqual(wanted);
        before = found?.length === 7 ? found.at(-1)?.id : undefined;
      } while (before !== undefined);
    }
    expect(await archive.actions(nothing, uuid(1), 7)).toBeUndefined();
  });

  it('gives up what takes too long, and says so', async () => {
    const hasty = connectDatabase(new Secret(postgres.url), {
      name: 'x402-hasty',
      most: 1,
      connectMs: 1000,
      statementMs: 200,
    });
    const client = await database.pool.connect();
    try {
      await client.query('begin; lock table x402.audit in access exclusive mode');
      const asked = new PostgresOperatorArchive(hasty, hasty).actions(
        {
          chainId: undefined,
          by: undefined,
          subject: undefined,
          from: undefined,
          to: undefined,
        },
        undefined,
        7,
      );
      await expect(asked).rejects.toMatchObject({ sqlState: '57014' });
    } finally {
      client.release(true);
      await hasty.db.destroy();
    }
  });
});
