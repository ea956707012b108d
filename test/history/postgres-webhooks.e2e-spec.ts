import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Address } from 'viem';
import { type SandboxPostgres, startPostgres } from '../../sandbox/postgres.js';
import { connectDatabase, type Database } from '../../src/history/postgres/database.js';
import { PostgresArchive } from '../../src/history/postgres/postgres-archive.js';
import { challengeIn } from '../../src/history/webhooks/event-body.js';
import { addDeliveries, EventWriter } from '../../src/history/webhooks/event-writer.js';
import { PostgresDeliveries } from '../../src/history/webhooks/postgres-deliveries.js';
import { PostgresLaneLevels } from '../../src/history/webhooks/postgres-lane-levels.js';
import { PostgresWebhooks } from '../../src/history/webhooks/postgres-webhooks.js';
import { newEventId } from '../../src/history/webhooks/rows.js';
import {
  type Webhook,
  type WebhookFields,
  WEBHOOKS_MAX,
} from '../../src/history/webhooks/webhook.js';
import { WebhookHealth } from '../../src/history/webhooks/webhook-health.js';
import { Secret } from '../../src/platform/config/secret.js';
import { RedisUnavailableError } from '../../src/protocol/errors.js';
import type { Change } from '../../src/settlement/ledger/outbox.js';
import type { SettlementState } from '../../src/settlement/model/settlement.js';
import { aRecorded, CLAIMED_AT, idOf } from '../builders/history/recorded-settlement.js';
import { describeDeliveries, MOVED_URL } from '../twins/history/webhooks/deliveries-contract.js';

const CHAIN_ID = 56;
/** Of the settlements that `aRecorded` makes. */
const PAYEE: Address = `0x${'c3'.repeat(20)}`;
const STRANGER: Address = `0x${'d4'.repeat(20)}`;
const FIELDS: WebhookFields = {
  url: 'https://shop.example/hook',
  description: 'orders',
  payees: [PAYEE],
  events: [
    'settlement.included',
    'settlement.finalized',
    'settlement.failed',
    'settlement.reorged',
  ],
};
const HOLDER = 'one';

describe('webhooks in PostgreSQL', () => {
  let postgres: SandboxPostgres;
  let database: Database;
  let archive: PostgresArchive;
  let webhooks: PostgresWebhooks;
  let deliveries: PostgresDeliveries;
  let epoch: number;
  let version: number;

  beforeAll(async () => {
    postgres = await startPostgres();
  });
  afterAll(() => postgres.stop());
  beforeEach(async () => {
    database = connectDatabase(new Secret(postgres.url));
    await database.pool.query('drop schema if exists x402 cascade');
    archive = opened();
    await archive.open();
    epoch = await archive.epochNumber({ chainId: CHAIN_ID, epoch: 'first' });
    version = 0;
    webhooks = new PostgresWebhooks(database.db, { now: () => CLAIMED_AT });
    deliveries = new PostgresDeliveries(database.db, { now: () => CLAIMED_AT });
  });
  afterEach(() => database.db.destroy());

  const opened = () =>
    new PostgresArchive(
      database,
      { history: { migrates: true, months: undefined } },
      { now: () => CLAIMED_AT },
      new EventWriter({ now: () => CLAIMED_AT }),
    );
  const change = (name: string, state: SettlementState, sequence = (version += 1)): Change => ({
    kind: 'recorded',
    id: idOf(name),
    version: { ms: 1000, sequence },
    settlement: aRecorded(name, state),
  });
  const store = (name: string, state: SettlementState) =>
    archive.store(CHAIN_ID, epoch, [change(name, state)]);
  async function createUnconfirmed(
    more: Partial<WebhookFields> = {},
    owner = 'shop',
  ): Promise<Webhook> {
    const made = await webhooks.create(owner, { ...FIELDS, ...more });
    if (made === 'too_many') throw new Error(made);
    return made;
  }
  /** One whose URL has answered the challenge. */
  async function create(more: Partial<WebhookFields> = {}, owner = 'shop'): Promise<Webhook> {
    const { id } = await createUnconfirmed(more, owner);
    await query('update x402.webhook_endpoints set confirmed_at = now() where id = $1', [id]);
    await query(`delete from x402.webhook_events where type = 'webhook.challenge'`);
    const webhook = await webhooks.find(owner, id);
    if (webhook === undefined) throw new Error('it is gone');
    return webhook;
  }
  const query = async <T extends object>(text: string, values: unknown[] = []): Promise<T[]> =>
    (await database.pool.query<T>(text, values)).rows;
  const events = async (): Promise<string[]> => {
    const rows = await query<{ type: string }>(
      'select type from x402.webhook_events order by sequence',
    );
    return rows.map(({ type }) => type.replace('settlement.', ''));
  };
  const heads = async (webhook: Webhook): Promise<string[]> =>
    (await deliveries.heads(webhook, 100)).map(({ type }) => type.replace('settlement.', ''));
  const passed = (seconds: number) =>
    query(`update x402.webhook_deliveries set due_at = due_at - make_interval(secs => $1)`, [
      seconds,
    ]);

  describeDeliveries('webhooks in PostgreSQL', async () => {
    const { id } = await create();
    const payTo = Buffer.from(PAYEE.slice(2), 'hex');
    const columns = [
      ['webhook_deliveries', 'due_at'],
      ['webhook_endpoints', 'leased_until'],
      ['webhook_endpoints', 'failing_since'],
    ] as const;
    return {
      store: deliveries,
      id,
      add: (name) =>
        database.db.transaction().execute(async (transaction) => {
          const line = Buffer.from(name);
          const { sequence } = await transaction
            .insertInto('webhook_events')
            .values({
              id: newEventId(),
              type: 'settlement.included',
              line,
              pay_to: payTo,
              body: '{}',
            })
            .returning('sequence')
            .executeTakeFirstOrThrow();
          await addDeliveries(transaction, [{ endpoint_id: id, sequence, line }]);
          return sequence;
        }),
      move: async () => {
        const moved = await webhooks.change('shop', id, { url: MOVED_URL });
        if (moved === undefined) throw new Error('it is gone');
        const [challenge] = await deliveries.heads(moved, 1);
        return challenge?.sequence ?? '';
      },
      webhook: async () => {
        const webhook = await webhooks.find('shop', id);
        if (webhook === undefined) throw new Error('it is gone');
        return webhook;
      },
      pass: async (ms) => {
        for (const [table, column] of columns) {
          await query(
            `update x402.${table} set ${column} = ${column} - make_interval(secs => $1)`,
            [ms / 1000],
          );
        }
      },
      failingForMs: async () => {
        const { failingSince } = (await webhooks.find('shop', id)) ?? {};
        return failingSince && Date.now() - failingSince.getTime();
      },
      close: () => Promise.resolve(),
    };
  });

  it('notes what happened to a settlement once, whoever archives it how often', async () => {
    const webhook = await create();
    await store('a', 'broadcast');
    expect(await events()).toEqual([]);
    const included = change('a', 'included');
    await archive.store(CHAIN_ID, epoch, [included]);
    await archive.store(CHAIN_ID, epoch, [included]);
    // The same again under a later version: a sale, or an entry that was read twice.
    await store('a', 'included');
    expect(await events()).toEqual(['included']);
    await store('a', 'finalized');
    // Read before, and written late.
    await archive.store(CHAIN_ID, epoch, [change('a', 'broadcast', 1)]);
    expect(await events()).toEqual(['included', 'finalized']);
    const [event] = await query<{ body: string; line: Buffer }>(
      'select body, line from x402.webhook_events order by sequence',
    );
    expect(event?.line.toString('base64url')).toBe(idOf('a'));
    expect(JSON.parse(event?.body ?? '')).toMatchObject({
      type: 'settlement.included',
      timestamp: new Date(CLAIMED_AT).toISOString(),
      data: {
        settlementId: idOf('a'),
        state: 'included',
        paid: true,
        finality: 'included',
        block: { number: '7', hash: `0x${'cd'.repeat(32)}` },
        payment: { network: 'eip155:56', payTo: PAYEE, amount: (2n ** 256n - 1n).toString() },
      },
    });
    expect(await heads(webhook)).toEqual(['included']);
  });

  it('tells of a payment that was taken back', async () => {
    await create();
    for (const state of ['included', 'broadcast', 'expired'] as const) await store('a', state);
    expect(await events()).toEqual(['included', 'reorged', 'failed']);
  });

  it('knows the payee of a claim that a ledger made again without its payment', async () => {
    await create();
    await store('a', 'broadcast');
    const { settlement, ...rest } = change('a', 'finalized') as Change & { kind: 'recorded' };
    const bare = { ...rest, settlement: { ...settlement, details: undefined } };
    await archive.store(CHAIN_ID, epoch, [bare]);
    expect(await events()).toEqual(['included', 'finalized']);
  });

  it('of two that archive the same at once notes each event once', async () => {
    const webhook = await create();
    const names = Array.from({ length: 40 }, (_, index) => `s${index}`);
    const included = names.map((name) => change(name, 'included', 1));
    const finalized = names.map((name) => change(name, 'finalized', 2)).reverse();
    const other = opened();
    await Promise.all([
      archive.store(CHAIN_ID, epoch, included),
      other.store(CHAIN_ID, epoch, finalized),
      archive.store(CHAIN_ID, epoch, finalized),
      other.store(CHAIN_ID, epoch, included),
    ]);
    const found = await query<{ types: string[] }>(
      `select array_agg(type order by event.sequence) as types
        from x402.webhook_deliveries join x402.webhook_events event using (sequence)
        where endpoint_id = $1 group by event.line`,
      [webhook.id],
    );
    expect(found).toEqual(
      names.map(() => ({ types: ['settlement.included', 'settlement.finalized'] })),
    );
  });

  it('leaves nothing behind of payees that nobody listens to', async () => {
    const webhook = await create({ payees: [STRANGER] });
    await store('a', 'finalized');
    expect(await events()).toEqual([]);
    expect(await heads(webhook)).toEqual([]);
  });

  it('tells each webhook what it wants to hear, and a disabled one nothing', async () => {
    const [all, failures, off] = [
      await create(),
      await create({ events: ['settlement.failed'] }, 'other'),
      await create(),
    ];
    await webhooks.change('shop', off.id, { enabled: false });
    await store('a', 'included');
    await store('b', 'expired');
    expect(await heads(all)).toEqual(['included', 'failed']);
    expect(await heads(failures)).toEqual(['failed']);
    expect(await heads(off)).toEqual([]);
  });

  it('archives nothing while its events cannot be written, and all of it then', async () => {
    await create();
    await query(`alter table x402.webhook_events add constraint broken check (false)`);
    const changes = [change('a', 'included'), change('b', 'included')];
    await expect(archive.store(CHAIN_ID, epoch, changes)).rejects.toMatchObject({
      condition: 'database_failed',
    });
    expect(await query('select id from x402.settlements')).toEqual([]);
    expect(await query('select id from x402.unreadable_records')).toEqual([]);
    await query(`alter table x402.webhook_events drop constraint broken`);
    await archive.store(CHAIN_ID, epoch, changes);
    expect(await events()).toEqual(['included', 'included']);
  });

  it('lets a webhook be deleted while it is written to, and takes its deliveries along', async () => {
    const webhook = await create();
    await Promise.all([
      ...Array.from({ length: 20 }, (_, index) => store(`s${index}`, 'included')),
      webhooks.remove('shop', webhook.id),
    ]);
    expect(await query('select * from x402.settlements')).toHaveLength(20);
    expect(await query('select * from x402.webhook_deliveries')).toEqual([]);
  });

  it('hands out of each settlement the oldest, and holds the others back with it', async () => {
    const webhook = await create();
    await store('a', 'finalized');
    await store('b', 'included');
    const [first, other] = await deliveries.heads(webhook, 10);
    expect([first?.type, other?.type]).toEqual(['settlement.included', 'settlement.included']);
    const failed = { state: 'waiting', pauseMs: 60_000, status: 500, problem: 'no' } as const;
    await deliveries.record(webhook.id, first?.sequence ?? '', failed);
    await deliveries.record(webhook.id, other?.sequence ?? '', { state: 'delivered', status: 204 });
    expect(await heads(webhook)).toEqual([]);
    // Nor is it looked at again and again meanwhile.
    expect(await deliveries.due(10)).toEqual([]);
    // A later delivery waits behind it too.
    await store('a', 'broadcast');
    expect(await deliveries.due(10)).toEqual([]);
    expect(await deliveries.nextInMs(webhook.id)).toBeGreaterThan(55_000);
    await passed(61);
    expect(await deliveries.due(10)).toEqual([webhook.id]);
    const dueDelivery: string[] = [];
    for (;;) {
      const [head, ...more] = await deliveries.heads(webhook, 10);
      if (head === undefined) break;
      expect(more).toEqual([]);
      dueDelivery.push(head.type);
      await deliveries.record(webhook.id, head.sequence, { state: 'delivered', status: 200 });
    }
    expect(dueDelivery).toEqual(
      ['included', 'finalized', 'reorged'].map((type) => `settlement.${type}`),
    );
    expect(await deliveries.nextInMs(webhook.id)).toBeUndefined();
  });

  it('is disabled after a day in which nothing reached it, and tells those who ask for it', async () => {
    const webhook = await create();
    const watcher = await create({ events: ['webhook.disabled'] });
    const stranger = await create({ events: ['webhook.disabled'] }, 'other');
    await store('a', 'included');
    const [head] = await deliveries.heads(webhook, 1);
    const sequence = head?.sequence ?? '';
    await deliveries.record(webhook.id, sequence, { state: 'waiting', pauseMs: 0, status: 500 });
    expect(await deliveries.disable(webhook.id, 'failing')).toBe(false);
    const age = (hours: number) =>
      query(
        `update x402.webhook_endpoints set failing_since = now() - make_interval(hours => $1)`,
        [hours],
      );
    await age(23);
    expect(await deliveries.disable(webhook.id, 'failing')).toBe(false);
    await age(25);
    expect(await deliveries.disable(webhook.id, 'failing')).toBe(true);
    expect(await deliveries.disable(webhook.id, 'failing')).toBe(false);
    expect(await webhooks.find('shop', webhook.id)).toMatchObject({
      disabled: { reason: 'failing' },
    });
    expect(await deliveries.take(webhook.id, HOLDER, 1000)).toBeUndefined();
    expect(await deliveries.due(10)).toEqual([watcher.id]);
    const [dueDelivery] = await deliveries.heads(watcher, 10);
    expect(dueDelivery).toMatchObject({ type: 'webhook.disabled', payTo: undefined });
    expect(JSON.parse(dueDelivery?.body ?? '')).toMatchObject({
      data: { webhookId: webhook.id, reason: 'failing' },
    });
    expect(await heads(stranger)).toEqual([]);
    // What waited goes on once it is enabled.
    await webhooks.change('shop', webhook.id, { enabled: true });
    expect(await webhooks.find('shop', webhook.id)).toMatchObject({
      disabled: undefined,
      failingSince: undefined,
    });
    expect(await heads(webhook)).toEqual(['included']);
  });

  it('sends again what is asked for, of payees that may still be heard of', async () => {
    const webhook = await create();
    for (const name of ['a', 'b', 'c']) await store(name, 'included');
    const all = await deliveries.heads(webhook, 10);
    for (const { sequence } of all) {
      await deliveries.record(webhook.id, sequence, { state: 'delivered' });
    }
    const payees = new Set([PAYEE]);
    expect(
      await webhooks.replay(webhook, { after: all[0]?.eventId ?? '', payees, isOperator: false }),
    ).toEqual({
      events: 2,
      next: undefined,
    });
    const again = await deliveries.heads(webhook, 10);
    expect(again.map(({ eventId }) => eventId)).toEqual(all.slice(1).map(({ eventId }) => eventId));
    expect(again.every(({ attempts }) => attempts === 0)).toBe(true);
    const since = new Date(Date.now() + 60_000);
    expect(await webhooks.replay(webhook, { since, payees, isOperator: false })).toMatchObject({
      events: 0,
    });
    expect(
      await webhooks.replay(webhook, { after: `evt_${'x'.repeat(32)}`, payees, isOperator: false }),
    ).toBeUndefined();
    const others = new Set([STRANGER]);
    expect(
      await webhooks.replay(webhook, { since: new Date(0), payees: others, isOperator: false }),
    ).toMatchObject({
      events: 0,
    });
    // A webhook that was made later gets earlier events.
    const late = await create();
    await webhooks.replay(late, { since: new Date(0), payees, isOperator: false });
    expect(await heads(late)).toEqual(['included', 'included', 'included']);
  });

  it('sends at most a thousand again at once, and says where to go on', async () => {
    const webhook = await create();
    await query(
      `insert into x402.webhook_events (id, type, line, pay_to, body)
        select 'evt_' || n, 'settlement.included', decode(lpad(n::text, 64, '0'), 'hex'), $1, '{}'
        from generate_series(1, 1200) n`,
      [Buffer.from(PAYEE.slice(2), 'hex')],
    );
    const payees = new Set([PAYEE]);
    const first = await webhooks.replay(webhook, { since: new Date(0), payees, isOperator: false });
    expect(first).toEqual({ events: 1000, next: 'evt_1000' });
    const rest = await webhooks.replay(webhook, { after: 'evt_1000', payees, isOperator: false });
    expect(rest).toEqual({ events: 200, next: undefined });
    expect(await deliveries.heads(webhook, 2000)).toHaveLength(1200);
  });

  it('shows its deliveries newest first, a page at a time', async () => {
    const webhook = await create();
    for (const name of ['a', 'b', 'c']) await store(name, 'included');
    await webhooks.test(webhook);
    const page = (await webhooks.deliveries(webhook, 2)) ?? [];
    expect(page.map(({ type }) => type)).toEqual(['webhook.test', 'settlement.included']);
    expect(page[0]).not.toHaveProperty('settlementId');
    expect(page[1]).toMatchObject({ settlementId: idOf('c'), state: 'waiting', attempts: 0 });
    const next = (await webhooks.deliveries(webhook, 10, page[1]?.eventId)) ?? [];
    expect(next.map(({ settlementId }) => settlementId)).toEqual([idOf('b'), idOf('a')]);
    expect(await webhooks.deliveries(webhook, 10, 'evt_unknown')).toBeUndefined();
  });

  it('keeps that a lane is low together with its event, or neither', async () => {
    const LANE = '56:0xd4';
    const levels = new PostgresLaneLevels(database.db);
    const low = { lane: LANE, isLow: true, body: '{"n":1}' };
    const listening = await create({ events: ['lane.low'], payees: [] }, 'ops');
    const seller = await create();
    await query(`alter table x402.webhook_deliveries add constraint broken check (false)`);
    await expect(levels.change(() => Promise.resolve([low]))).rejects.toMatchObject({
      condition: 'database_failed',
    });
    expect(await query('select * from x402.lane_levels')).toEqual([]);
    expect(await events()).toEqual([]);
    await query(`alter table x402.webhook_deliveries drop constraint broken`);
    // Redis is away in the middle of it: that is no trouble of the database.
    const away = new RedisUnavailableError('lanes', 'away');
    await expect(levels.change(() => Promise.reject(away))).rejects.toBe(away);
    await levels.change(() => Promise.resolve([low]));
    await levels.change((known) => {
      expect([...known]).toEqual([[LANE, true]]);
      return Promise.resolve([{ lane: LANE, isLow: false, body: undefined }]);
    });
    await levels.change((known) => {
      expect([...known]).toEqual([[LANE, false]]);
      return Promise.resolve([]);
    });
    expect(await events()).toEqual(['lane.low']);
    const [dueDelivery, ...more] = await deliveries.heads(listening, 10);
    expect(dueDelivery).toMatchObject({ type: 'lane.low', body: '{"n":1}', payTo: undefined });
    expect(more).toEqual([]);
    expect(await heads(seller)).toEqual([]);
  });

  it('has lanes looked at by one process at a time, and goes on when that one is gone', async () => {
    const lane = '56:0xd4';
    const other = connectDatabase(new Secret(postgres.url));
    const [one, two] = [new PostgresLaneLevels(database.db), new PostgresLaneLevels(other.db)];
    let decisions = 0;
    const decide = (isLow: ReadonlyMap<string, boolean>) => {
      decisions += 1;
      return Promise.resolve(isLow.get(lane) === true ? [] : [{ lane, isLow: true, body: '{}' }]);
    };
    await one.change(async (known) => {
      // The other one must not decide by what this one is about to change.
      await two.change(decide);
      expect(decisions).toBe(0);
      return decide(known);
    });
    await two.change(decide);
    expect([decisions, await events()]).toEqual([2, ['lane.low']]);
    // A change whose connection is lost in the middle stores nothing, and holds no lock.
    await query(`update x402.lane_levels set is_low = false`);
    await expect(
      two.change(async (known) => {
        await query(
          `select pg_terminate_backend(pid) from pg_stat_activity
            where pid <> pg_backend_pid() and state = 'idle in transaction'`,
        );
        return decide(known);
      }),
    ).rejects.toMatchObject({ condition: 'database_unreachable' });
    expect(await events()).toEqual(['lane.low']);
    await one.change(decide);
    expect(await events()).toEqual(['lane.low', 'lane.low']);
    await other.db.destroy();
  });

  it('sends events of lanes again to an operator, and to nobody else', async () => {
    const levels = new PostgresLaneLevels(database.db);
    const lane = '56:0xd4';
    // There is no webhook yet.
    await levels.change(() => Promise.resolve([{ lane, isLow: true, body: '{}' }]));
    await create();
    await store('a', 'included');
    const wants = ['lane.low', 'settlement.included'] as const;
    const [operator, seller] = [
      await create({ events: wants }, 'ops'),
      await create({ events: wants, payees: [STRANGER] }),
    ];
    const since = new Date(0);
    const payees = new Set([PAYEE]);
    await webhooks.replay(operator, { since, payees, isOperator: true });
    expect(await heads(operator)).toEqual(['lane.low', 'included']);
    await webhooks.replay(seller, { since, payees: new Set([STRANGER]), isOperator: false });
    expect(await heads(seller)).toEqual([]);
    const alone = await create({ events: ['lane.low'], payees: [] }, 'ops');
    await webhooks.replay(alone, { since, payees: new Set(), isOperator: true });
    expect(await heads(alone)).toEqual(['lane.low']);
  });

  it('sends each URL a challenge of its own, one at a time, and shows it to nobody else', async () => {
    const made = await createUnconfirmed();
    const challenges = async () => {
      const webhook = await webhooks.find('shop', made.id);
      const found = webhook === undefined ? [] : await deliveries.heads(webhook, 10);
      expect(found.map(({ type }) => type)).toEqual(['webhook.challenge']);
      return challengeIn(found[0]?.body ?? '');
    };
    const first = await challenges();
    expect(JSON.stringify([made, await webhooks.deliveries(made, 10)])).not.toContain(first);
    // Asked for again by a test, or moved, or enabled again: another one, and the one before is not posted any more.
    await Promise.all([webhooks.test(made), webhooks.test(made)]);
    const second = await challenges();
    await webhooks.change('shop', made.id, { url: made.url, description: 'the same place' });
    expect(await challenges()).toBe(second);
    await webhooks.change('shop', made.id, { url: MOVED_URL });
    const third = await challenges();
    await webhooks.change('shop', made.id, { enabled: false });
    await webhooks.change('shop', made.id, { enabled: true });
    const fourth = await challenges();
    expect(new Set([first, second, third, fourth]).size).toBe(4);
    // Deliveries to a URL that has not answered are no backlog of this service.
    await store('a', 'included');
    expect(await new WebhookHealth(database.db).backlog()).toMatchObject({ waiting: 0 });
  });

  it('belongs to its owner, who has ten at most, also of those asked for at once', async () => {
    const made = await Promise.all(
      Array.from({ length: WEBHOOKS_MAX + 5 }, () => webhooks.create('shop', FIELDS)),
    );
    expect(made.filter((one) => one === 'too_many')).toHaveLength(5);
    expect(await webhooks.list('shop')).toHaveLength(WEBHOOKS_MAX);
    const [mine] = await webhooks.list('shop');
    const id = mine?.id ?? '';
    expect(await webhooks.list('other')).toEqual([]);
    expect(await webhooks.find('other', id)).toBeUndefined();
    expect(await webhooks.change('other', id, { url: 'https://other.example/' })).toBeUndefined();
    expect(await webhooks.addSecret('other', id)).toBeUndefined();
    expect(await webhooks.remove('other', id)).toBe(false);
    expect(await webhooks.find('shop', id)).toEqual(mine);
    expect(await webhooks.create('other', FIELDS)).not.toBe('too_many');
  });

  it('has one to four secrets', async () => {
    const { id, secretNames } = await create();
    const added = await Promise.all([1, 2, 3, 4, 5].map(() => webhooks.addSecret('shop', id)));
    expect(added.filter((one) => one === 'too_many')).toHaveLength(2);
    const names = (await webhooks.find('shop', id))?.secretNames ?? [];
    expect(names).toHaveLength(4);
    expect(names[0]).toBe(secretNames[0]);
    expect(await webhooks.removeSecret('shop', id, 'ws_unknown')).toBeUndefined();
    const removed: unknown[] = [];
    for (const name of names) removed.push(await webhooks.removeSecret('shop', id, name));
    expect(removed).toEqual(['removed', 'removed', 'removed', 'last']);
  });

  it('says how much waits, and for how long', async () => {
    const health = new WebhookHealth(database.db);
    const nothing = { waiting: 0, oldestSeconds: 0, overdueSeconds: 0, disabledEndpoints: 0 };
    expect(await health.backlog()).toEqual(nothing);
    const webhook = await create();
    await store('a', 'finalized');
    await passed(100);
    await query(`update x402.webhook_events set created_at = now() - interval '200 seconds'`);
    const backlog = await health.backlog();
    expect(backlog).toMatchObject({ waiting: 2, disabledEndpoints: 0 });
    expect(Math.round(backlog.overdueSeconds / 10)).toBe(10);
    expect(Math.round(backlog.oldestSeconds / 10)).toBe(20);
    await webhooks.change('shop', webhook.id, { enabled: false });
    expect(await health.backlog()).toEqual({ ...nothing, disabledEndpoints: 1 });
  });

  it('forgets events after a month', async () => {
    await create();
    await store('a', 'finalized');
    await query(
      `update x402.webhook_events set created_at = now() - interval '31 days' where type like '%included'`,
    );
    expect(await deliveries.forget()).toBe(false);
    expect(await events()).toEqual(['finalized']);
    expect(await query('select * from x402.webhook_deliveries')).toHaveLength(1);
  });
});
