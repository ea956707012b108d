import { mkdtempSync, renameSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect } from '@jest/globals';
import { Redis } from 'ioredis';
import pg from 'pg';
import type { Address } from 'viem';
import type { PrivateKeyAccount } from 'viem/accounts';
import { SIGNER } from '../../sandbox/accounts.js';
import { restartPostgres, type SandboxPostgres, startPostgres } from '../../sandbox/postgres.js';
import type { Service } from '../../sandbox/service.js';
import { type ApiKeyRecord, createApiKey } from '../../src/operations/access/api-key.js';
import { ApiDescription } from '../support/api-description.js';
import { type Answer, eventually, get, post } from '../support/http.js';
import { deep, it } from '../support/part.js';
import { eip3009Body, type Json, newAccount } from '../support/payments.js';
import { World } from '../support/world.js';
import { WebhookReceiver } from './webhook-receiver.js';

const WEBHOOK_KEY = 'a key of this test, of no value at all';
/** Longer than an attempt and a lease. */
const PATIENCE_MS = 60_000;

describe('webhooks', () => {
  const [shopPayee, otherPayee]: readonly Address[] = [newAccount().address, newAccount().address];
  const shop = createApiKey('shop', ['settle', 'history'], [shopPayee ?? '']);
  const other = createApiKey('other', ['history'], [otherPayee ?? '']);
  const till = createApiKey('till', ['verify', 'settle']);
  const ops = createApiKey('ops', ['history', 'admin']);
  const file = join(mkdtempSync(join(tmpdir(), 'x402-webhooks-')), 'keys.json');
  let world: World;
  let postgres: SandboxPostgres;
  let receiver: WebhookReceiver;
  let facilitator: Service;
  let history: Service;
  let payer: PrivateKeyAccount;
  let api: ApiDescription;

  beforeAll(async () => {
    writeKeys(shop.record, other.record, till.record, ops.record);
    [world, postgres, receiver] = await Promise.all([
      World.start(),
      startPostgres(),
      WebhookReceiver.start(),
    ]);
    [facilitator, history, payer] = await Promise.all([
      world.service(settings()),
      startHistory(),
      world.payer(),
    ]);
    await eventually('the tables', async () => (await ask('GET', '')).status === 200, PATIENCE_MS);
    api = new ApiDescription((await get(`${facilitator.url}/openapi.json`)).body);
  }, 120_000);
  afterAll(async () => {
    receiver.stop();
    await Promise.all([world.stop(), postgres.stop()]);
  });
  afterEach(async () => {
    writeKeys(shop.record, other.record, till.record, ops.record);
    const { body } = await ask('GET', '');
    for (const { id } of body['webhooks'] as { id: string }[]) await ask('DELETE', `/${id}`);
    expect(receiver.refused).toEqual([]);
  });

  const settings = () => ({
    DATABASE_URL: postgres.url,
    API_KEYS_FILE: file,
    WEBHOOK_KEY,
    WEBHOOK_ALLOW: receiver.host,
  });
  const startHistory = () => world.service({ ...settings(), ROLES: 'history', SIGNER_KEYS: '' });
  function writeKeys(...keys: readonly ApiKeyRecord[]): void {
    writeFileSync(`${file}.new`, JSON.stringify({ version: 1, keys }));
    renameSync(`${file}.new`, file);
  }

  async function ask(
    method: string,
    path: string,
    body?: unknown,
    key: string | undefined = shop.key,
  ): Promise<Answer> {
    const response = await fetch(`${facilitator.url}/v2/webhooks${path}`, {
      method,
      headers: { 'content-type': 'application/json', ...(key !== '' && { 'X-API-Key': key }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    const { status, headers } = response;
    return { status, headers, body: (text === '' ? {} : JSON.parse(text)) as Json };
  }

  /** As the description of the interface has it. */
  function expectDescribed(method: string, path: string, { status, body }: Answer): void {
    expect(api.problemsOf(method.toLowerCase(), path, status, body)).toEqual([]);
  }

  /** A webhook at a path of the receiver, which knows its secret. */
  async function made(path: string, more: object = {}): Promise<string> {
    const { status, body } = await ask('POST', '', { url: receiver.url(path), ...more });
    expect(status).toBe(201);
    receiver.trust(path, String(body['secret']));
    return String(body['id']);
  }

  async function settle(payTo: Address | undefined = shopPayee): Promise<string> {
    const { chainId, usd: token } = world;
    const paid = await eip3009Body({ payer, chainId, token, payTo: payTo ?? '0x' });
    const { body, headers } = await post(`${facilitator.url}/settle`, paid, {
      'X-API-Key': till.key,
    });
    expect(body).toMatchObject({ success: true });
    await world.client.mine({ blocks: 5 });
    return headers.get('settlement-id') ?? '';
  }

  const typesOf = (path: string, settlementId: string): string[] =>
    receiver
      .at(path)
      .filter(({ data }) => data['settlementId'] === settlementId)
      .map(({ type }) => type);
  const reported = (
    path: string,
    id: string,
    what = 'settlement.finalized',
    patienceMs = PATIENCE_MS,
  ) => eventually(`${path} hears of ${what}`, () => typesOf(path, id).includes(what), patienceMs);
  const allDeliveriesOf = async (id: string): Promise<Json[]> =>
    (await ask('GET', `/${id}/deliveries`)).body['deliveries'] as Json[];
  const deliveriesOf = async (id: string): Promise<Json[]> =>
    (await allDeliveriesOf(id)).filter(({ type }) => type !== 'webhook.challenge');
  const confirmed = (id: string) =>
    eventually('the challenge is answered', async () => {
      const { body } = await ask('GET', `/${id}`);
      return body['confirmedAt'] !== undefined;
    });
  /** Without its challenge. */
  const statesOf = async (webhook: string): Promise<string[]> => {
    const rows = await query<{ state: string }>(
      `select state from x402.webhook_deliveries join x402.webhook_events using (sequence)
        where endpoint_id = '${webhook}' and type <> 'webhook.challenge'`,
    );
    return rows.map(({ state }) => state);
  };
  async function query<T extends object>(text: string): Promise<T[]> {
    const client = new pg.Client({ connectionString: postgres.url });
    await client.connect();
    try {
      return (await client.query<T>(text)).rows;
    } finally {
      await client.end();
    }
  }
  /** The next attempts are due. */
  const passPauses = () =>
    query(`update x402.webhook_deliveries set due_at = now() where state = 'waiting'`);

  it('tell a seller what becomes of its settlements, in order, each once', async () => {
    const created = await ask('POST', '', { url: receiver.url('/a'), description: 'orders' });
    expectDescribed('POST', '/v2/webhooks', created);
    receiver.trust('/a', String(created.body['secret']));
    const ids = await Promise.all([settle(), settle(), settle()]);
    for (const id of ids) await reported('/a', id);
    for (const id of ids) {
      expect(typesOf('/a', id)).toEqual(['settlement.included', 'settlement.finalized']);
    }
    const data: Readonly<Record<string, unknown>> = receiver.at('/a').at(-1)?.data ?? {};
    const shown = await get(`${facilitator.url}/v2/settlements/${String(data['settlementId'])}`);
    const { settlementId, state, paid, transaction, block, payment } = shown.body;
    expect(data).toMatchObject({ settlementId, state, paid, transaction, block, payment });
    const webhook = String(created.body['id']);
    await eventually('all are noted', async () =>
      (await deliveriesOf(webhook)).every((one) => one['state'] === 'delivered'),
    );
    const listed = await ask('GET', `/${webhook}/deliveries`);
    expectDescribed('GET', '/v2/webhooks/{id}/deliveries', listed);
    const shownAgain = await ask('GET', `/${webhook}`);
    expectDescribed('GET', '/v2/webhooks/{id}', shownAgain);
    expect(JSON.stringify(shownAgain.body)).not.toContain('whsec_');
    const metrics = await (await fetch(`${history.opsUrl}/metrics`)).text();
    expect(metrics).toMatch(/x402_webhook_attempts_total\{outcome="delivered"\} [6-9]/);
    expect(metrics).toContain('x402_webhook_waiting 0');
  });

  it('are nobody else’s, and tell nobody of payees that are not theirs', async () => {
    const mine = await made('/mine');
    const { status } = await ask('POST', '', { url: receiver.url('/x') }, till.key);
    expect(status).toBe(403);
    expect((await ask('GET', '', undefined, '')).status).toBe(401);
    for (const [method, path] of [
      ['GET', ''],
      ['PATCH', ''],
      ['DELETE', ''],
      ['POST', '/secrets'],
      ['POST', '/test'],
      ['GET', '/deliveries'],
    ]) {
      const body = method === 'PATCH' ? { enabled: false } : undefined;
      const answer = await ask(method ?? '', `/${mine}${path ?? ''}`, body, other.key);
      expect([method, path, answer.status]).toEqual([method, path, 404]);
    }
    // PostgreSQL takes no zero byte; that is no outage of it.
    for (const path of ['/%00', '/we_%00/deliveries', `/${mine}/secrets/%00`]) {
      const method = path.includes('secrets') ? 'DELETE' : 'GET';
      expect([path, (await ask(method, path)).status]).toEqual([path, 404]);
    }
    const stolen = { url: receiver.url('/stolen'), payees: [shopPayee] };
    expect((await ask('POST', '', stolen, other.key)).status).toBe(403);
    const theirs = await ask('POST', '', { url: receiver.url('/theirs') }, other.key);
    receiver.trust('/theirs', String(theirs.body['secret']));
    const patched = `/${String(theirs.body['id'])}`;
    expect((await ask('PATCH', patched, { payees: [shopPayee] }, other.key)).status).toBe(403);
    await reported('/mine', await settle());
    await reported('/theirs', await settle(otherPayee));
    for (const [path, payee] of [
      ['/mine', shopPayee],
      ['/theirs', otherPayee],
    ]) {
      const payees = receiver.at(path ?? '').map(({ data }) => (data['payment'] as Json)['payTo']);
      expect(new Set(payees)).toEqual(new Set([payee?.toLowerCase()]));
    }
    await ask('DELETE', patched, undefined, other.key);
  });

  it('are sent nothing but a challenge before their URL answers it, and again where that changes', async () => {
    receiver.mute.add('/stranger');
    const webhook = await made('/stranger');
    const id = await settle();
    const challenged = () => receiver.challenged.filter((path) => path === '/stranger').length;
    const confirmedAt = async () => (await ask('GET', `/${webhook}`)).body['confirmedAt'];
    await eventually('the challenge', () => challenged() > 0, PATIENCE_MS);
    await eventually('the event waits', async () => (await deliveriesOf(webhook)).length > 0);
    expect(await confirmedAt()).toBeUndefined();
    receiver.mute.delete('/stranger');
    // A test asks for the challenge again, before the next attempt is due.
    expect((await ask('POST', `/${webhook}/test`)).status).toBe(202);
    await reported('/stranger', id);
    expect(await confirmedAt()).toBeDefined();
    receiver.mute.add('/elsewhere');
    receiver.trust('/elsewhere', 'whsec_c29tZWJvZHkgZWxzZSdz');
    const moved = await ask('PATCH', `/${webhook}`, { url: receiver.url('/elsewhere') });
    expectDescribed('PATCH', '/v2/webhooks/{id}', moved);
    expect(moved.body).not.toHaveProperty('confirmedAt');
    await settle();
    await eventually('the other is asked', () => receiver.challenged.includes('/elsewhere'));
    expect(receiver.at('/elsewhere')).toEqual([]);
  });

  deep('are tested and replayed no more often than an API key may', async () => {
    const { body } = await ask('POST', '', { url: receiver.url('/tested') }, other.key);
    receiver.trust('/tested', String(body['secret']));
    const webhook = `/${String(body['id'])}`;
    const again = { since: '2026-11-22T08:00:00Z' };
    for (const [path, sent] of [
      ['/test', undefined],
      ['/replay', again],
    ] as const) {
      let answer: Answer;
      let count = 0;
      do {
        answer = await ask('POST', `${webhook}${path}`, sent, other.key);
        count += 1;
      } while (answer.status === 202 && count < 100);
      expect([path, answer.status]).toEqual([path, 429]);
      expect(count).toBeLessThan(15);
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
      expectDescribed('POST', `/v2/webhooks/{id}${path}`, answer);
    }
    expect((await ask('GET', webhook, undefined, other.key)).status).toBe(200);
    await ask('DELETE', webhook, undefined, other.key);
  });

  it('are told again what failed, with the same id, and hold back no other', async () => {
    const webhook = await made('/failing');
    await made('/well-2');
    receiver.behave('/failing', (response) => response.writeHead(500).end('out of order'));
    const id = await settle();
    await reported('/well-2', id);
    await eventually('an attempt', () => receiver.at('/failing').length > 0);
    await eventually('it is noted', async () => {
      const all = await deliveriesOf(webhook);
      return all.some((one) => one['status'] === 500 && one['answer'] === 'out of order');
    });
    // The second one waits behind the first.
    expect(new Set(typesOf('/failing', id))).toEqual(new Set(['settlement.included']));
    receiver.behave('/failing');
    await passPauses();
    await reported('/failing', id);
    const [first, second] = receiver.at('/failing');
    expect(second?.id).toBe(first?.id);
    expect((await ask('GET', `/${webhook}`)).body).not.toHaveProperty('failingSince');
  });

  deep('that stall or send without end cost an attempt, and delay nobody', async () => {
    const [stalling] = [await made('/stalling'), await made('/well-3')];
    const endless = await made('/endless');
    receiver.behave('/stalling', () => undefined);
    receiver.behave('/endless', (response) => {
      response.writeHead(200);
      const write = (): void => {
        if (!response.destroyed) setImmediate(() => response.write('x'.repeat(65_536), write));
      };
      write();
    });
    const from = performance.now();
    const id = await settle();
    await reported('/well-3', id, 'settlement.finalized', 8000);
    await reported('/endless', id, 'settlement.finalized', 8000);
    expect(performance.now() - from).toBeLessThan(8000);
    await eventually('it is noted', async () =>
      (await deliveriesOf(endless)).every(
        (one) => one['state'] === 'delivered' && one['answer'] === 'x'.repeat(256),
      ),
    );
    await eventually(
      'the stalling one is given up',
      async () => (await deliveriesOf(stalling)).some((one) => 'problem' in one),
      PATIENCE_MS,
    );
    receiver.behave('/stalling');
  });

  deep('lead nowhere inside: not by a redirect, not by a name, not by an address', async () => {
    let hits = 0;
    const inside = createServer((_, response) => {
      hits += 1;
      response.end();
    });
    await new Promise<void>((resolve) => inside.listen(0, '127.0.0.1', resolve));
    const { port } = inside.address() as AddressInfo;
    for (const url of [
      `http://127.0.0.1:${port}/`,
      `https://127.0.0.1:${port}/`,
      `https://[::1]:${port}/`,
      `https://user:password@${receiver.host}/`,
      'https://169.254.169.254/latest/meta-data/',
    ]) {
      expect((await ask('POST', '', { url })).status).toBe(400);
    }
    const redirected = await made('/redirecting');
    receiver.behave('/redirecting', (response) => {
      response.writeHead(307, { location: `http://127.0.0.1:${port}/` }).end();
    });
    const named = await ask('POST', '', { url: `https://localhost:${port}/` });
    expect(named.status).toBe(201);
    await settle();
    for (const [webhook, problem] of [
      [redirected, /redirects are not followed/],
      [String(named.body['id']), /not public/],
    ] as const) {
      await eventually('it is refused', async () =>
        (await allDeliveriesOf(webhook)).some((one) => problem.test(String(one['problem']))),
      );
    }
    expect(hits).toBe(0);
    inside.close();
  });

  deep('are told by another process when one dies in the middle', async () => {
    await made('/dying');
    receiver.behave('/dying', () => undefined);
    const id = await settle();
    // What became of a settlement before it may come too.
    const ofIt = () => receiver.at('/dying').filter(({ data }) => data['settlementId'] === id);
    await eventually('an attempt is under way', () => ofIt().length > 0, PATIENCE_MS);
    await history.stop('SIGKILL');
    receiver.behave('/dying');
    history = await startHistory();
    await reported('/dying', id);
    const events = ofIt();
    expect(events.length).toBeGreaterThan(2);
    // A repeat, not another event; then the next one.
    expect(events[1]?.id).toBe(events[0]?.id);
    expect(new Set(events.map((one) => one.id)).size).toBe(2);
    expect(events.at(-1)?.type).toBe('settlement.finalized');
  });

  deep('are told of what is due though the jobs are lost with Redis', async () => {
    await made('/lost');
    receiver.behave('/lost', (response) => response.writeHead(503).end());
    const id = await settle();
    await eventually('an attempt', () => receiver.at('/lost').length > 0, PATIENCE_MS);
    receiver.behave('/lost');
    const redis = new Redis(world.redis.url);
    const keys = await redis.keys('bull:webhooks:*');
    expect(keys.length).toBeGreaterThan(0);
    await redis.del(keys);
    redis.disconnect();
    await reported('/lost', id);
  });

  deep('wait while PostgreSQL is away, and are told all of it then', async () => {
    const webhook = await made('/away');
    await postgres.crash();
    const ids = [await settle(), await settle()];
    const away = await ask('GET', `/${webhook}`);
    expect(away.status).toBe(503);
    expect(JSON.stringify(away.body)).not.toContain('postgres');
    await eventually('the log has it', () => history.log().includes('cannot deliver webhooks'));
    postgres = await restartPostgres(postgres);
    for (const id of ids) {
      await reported('/away', id);
      expect(new Set(typesOf('/away', id)).size).toBe(2);
    }
    expect(history.log()).not.toContain(new URL(postgres.url).password);
  });

  it('are signed by each secret while one is replaced', async () => {
    const created = await ask('POST', '', { url: receiver.url('/rotated') });
    const webhook = String(created.body['id']);
    const old = String(created.body['secret']);
    const added = await ask('POST', `/${webhook}/secrets`);
    expectDescribed('POST', '/v2/webhooks/{id}/secrets', added);
    const fresh = String(added.body['secret']);
    receiver.trust('/rotated', old);
    await confirmed(webhook);
    // The receiver wants both signatures to be good.
    receiver.trust('/rotated', old, fresh);
    const tested = await ask('POST', `/${webhook}/test`);
    expect(tested.status).toBe(202);
    await eventually('the test', () => receiver.at('/rotated').length === 1, PATIENCE_MS);
    expect(receiver.at('/rotated')[0]).toMatchObject({
      id: tested.body['eventId'],
      type: 'webhook.test',
      data: { webhookId: webhook },
    });
    const [{ id: first = '' } = {}] = created.body['secrets'] as { id?: string }[];
    expect((await ask('DELETE', `/${webhook}/secrets/${first}`)).status).toBe(204);
    receiver.trust('/rotated', fresh);
    await ask('POST', `/${webhook}/test`);
    await eventually('another test', () => receiver.at('/rotated').length === 2, PATIENCE_MS);
    const last = String(added.body['id']);
    expect((await ask('DELETE', `/${webhook}/secrets/${last}`)).status).toBe(409);
  });

  deep('are replayed from an event on, and what was missed while they were off', async () => {
    const webhook = await made('/replayed');
    const first = await settle();
    await reported('/replayed', first);
    const [heard] = receiver.at('/replayed');
    await ask('PATCH', `/${webhook}`, { enabled: false });
    const missed = await settle();
    const off = await ask('GET', `/${webhook}`);
    expect(off.body).toMatchObject({ status: 'disabled', disabled: { reason: 'owner' } });
    expect((await ask('POST', `/${webhook}/test`)).status).toBe(409);
    await eventually('it is archived', async () => {
      const rows = await query<{ count: string }>(
        `select count(*) from x402.webhook_events where type = 'settlement.finalized'
          and body like '%${missed}%'`,
      );
      return rows[0]?.count === '1';
    });
    await ask('PATCH', `/${webhook}`, { enabled: true });
    const replayed = await ask('POST', `/${webhook}/replay`, { after: heard?.id });
    expectDescribed('POST', '/v2/webhooks/{id}/replay', replayed);
    expect(replayed).toMatchObject({ status: 202, body: { events: 3 } });
    await reported('/replayed', missed);
    expect(typesOf('/replayed', missed)).toEqual(['settlement.included', 'settlement.finalized']);
    await eventually('the one before again', () => typesOf('/replayed', first).length === 3);
    for (const body of [{}, { after: 'evt_x' }, { since: 'now' }]) {
      expect((await ask('POST', `/${webhook}/replay`, body)).status).toBe(400);
    }
  });

  deep('are disabled when they say that they are gone, and the log has it', async () => {
    const webhook = await made('/gone');
    receiver.behave('/gone', (response) => response.writeHead(410).end());
    await settle();
    await eventually(
      'it is disabled',
      async () => (await ask('GET', `/${webhook}`)).body['status'] === 'disabled',
      PATIENCE_MS,
    );
    expect((await ask('GET', `/${webhook}`)).body).toMatchObject({ disabled: { reason: 'gone' } });
    expect(history.log()).toContain('"event":"webhook.disabled"');
    const before = receiver.at('/gone').length;
    await passPauses();
    await made('/well-10');
    await reported('/well-10', await settle());
    expect(receiver.at('/gone')).toHaveLength(before);
  });

  deep(
    'tell an operator once of each fall of a lane’s gas balance, whoever dies, and no seller',
    async () => {
      const lane = { url: receiver.url('/lane'), events: ['lane.low'] };
      for (const key of [shop.key, other.key, till.key]) {
        expect((await ask('POST', '', lane, key)).status).toBe(403);
      }
      const seller = await made('/seller');
      expect((await ask('PATCH', `/${seller}`, { events: lane.events })).status).toBe(403);
      // Without payees a key has no settlements to get events of.
      expect((await ask('POST', '', { url: lane.url }, ops.key)).status).toBe(403);
      const created = await ask('POST', '', lane, ops.key);
      expectDescribed('POST', '/v2/webhooks', created);
      expect(created).toMatchObject({ status: 201, body: { payees: [], events: ['lane.low'] } });
      const webhook = String(created.body['id']);
      receiver.trust('/lane', String(created.body['secret']));
      const both = { events: ['lane.low', 'settlement.included'] };
      expect((await ask('PATCH', `/${webhook}`, both, ops.key)).status).toBe(403);
      const heard = () => new Set(receiver.at('/lane').map(({ id }) => id)).size;
      const isLow = async () =>
        (await query<{ is_low: boolean }>('select is_low from x402.lane_levels'))[0]?.is_low;
      const { address } = SIGNER;
      const full = await world.client.getBalance({ address });
      try {
        await history.stop('SIGKILL');
        await world.client.setBalance({ address, value: 0n });
        history = await startHistory();
        await eventually('it is told', () => heard() === 1, PATIENCE_MS);
        expect(receiver.at('/lane')[0]).toMatchObject({
          type: 'lane.low',
          data: {
            signer: address.toLowerCase(),
            settlementsLeft: 0,
            lowBelow: 1000,
            balanceWei: '0',
          },
        });
        expect(history.log()).toContain('"event":"lane.low"');
        // Another process finds the same lane, and tells nothing again.
        await history.stop('SIGKILL');
        history = await startHistory();
        await world.client.setBalance({ address, value: full });
        await eventually('it has recovered', async () => (await isLow()) === false, PATIENCE_MS);
        expect(heard()).toBe(1);
        await world.client.setBalance({ address, value: 0n });
        await eventually('the next fall', () => heard() === 2, PATIENCE_MS);
      } finally {
        await world.client.setBalance({ address, value: full });
      }
      // A key that is an operator's no more gets no events.
      await eventually(
        'it has recovered again',
        async () => (await isLow()) === false,
        PATIENCE_MS,
      );
      writeKeys(shop.record, other.record, till.record, { ...ops.record, scopes: ['history'] });
      await eventually(
        'the key is read',
        async () => (await ask('POST', '', lane, ops.key)).status === 403,
      );
      await world.client.setBalance({ address, value: 0n });
      await eventually(
        'it is withheld',
        async () => {
          const states = await statesOf(webhook);
          return states.length === 3 && states.includes('withheld');
        },
        PATIENCE_MS,
      );
      await world.client.setBalance({ address, value: full });
      expect([heard(), receiver.at('/seller')]).toEqual([2, []]);
      writeKeys(shop.record, other.record, till.record, ops.record);
      await eventually(
        'the key is read again',
        async () => (await ask('DELETE', `/${webhook}`, undefined, ops.key)).status === 204,
      );
      await eventually('the lane works again', async () => {
        const { body } = await get(`${facilitator.opsUrl}/health`);
        return !JSON.stringify(body).includes('no_gas');
      });
    },
  );

  deep('tell nothing more to a key that may not list the payee', async () => {
    const webhook = await made('/revoked');
    writeKeys({ ...shop.record, scopes: ['settle'] }, other.record, till.record);
    await eventually('the key is read', async () => (await ask('GET', '')).status === 403);
    const watch = await ask('POST', '', { url: receiver.url('/theirs') }, other.key);
    receiver.trust('/theirs', String(watch.body['secret']));
    await new Promise((resolve) => setTimeout(resolve, 1500));
    await settle();
    await reported('/theirs', await settle(otherPayee));
    await eventually('it is withheld', async () => {
      const states = await statesOf(webhook);
      return states.length === 2 && states.every((state) => state === 'withheld');
    });
    expect(receiver.at('/revoked')).toEqual([]);
    writeKeys(shop.record, other.record, till.record);
    await eventually('the key is read', async () => (await ask('GET', '')).status === 200);
    await ask('DELETE', `/${String(watch.body['id'])}`, undefined, other.key);
  });

  it('are nowhere without a key of the service', async () => {
    const plain = await world.service({ ROLES: 'api', SIGNER_KEYS: '', API_KEYS_FILE: file });
    const answer = await fetch(`${plain.url}/v2/webhooks`, { headers: { 'X-API-Key': shop.key } });
    expect(answer.status).toBe(404);
    const { body } = await get(`${plain.url}/openapi.json`);
    expect(JSON.stringify(body)).not.toContain('/v2/webhooks');
    await plain.stop();
  });
});
