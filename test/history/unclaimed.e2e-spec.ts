import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import pg from 'pg';
import type { PrivateKeyAccount } from 'viem/accounts';
import { type SandboxPostgres, startPostgres } from '../../sandbox/postgres.js';
import type { Service } from '../../sandbox/service.js';
import { createApiKey } from '../../src/operations/access/api-key.js';
import { scrape } from '../operations/scrape.js';
import { ApiDescription } from '../support/api-description.js';
import { eventually, get, post } from '../support/http.js';
import { type Body, eip3009Body, type Json, newAccount } from '../support/payments.js';
import { World } from '../support/world.js';
import { WebhookReceiver } from './webhook-receiver.js';

const PATIENCE_MS = 60_000;
const AMOUNT = 1000n;

/** Buyers whose payments landed after their seller was answered. */
const payTo = newAccount().address;
const operator = createApiKey('night-shift', ['admin']);
const shop = createApiKey('shop', ['settle', 'history'], [payTo]);
const file = join(mkdtempSync(join(tmpdir(), 'x402-unclaimed-')), 'keys.json');
let world: World;
let postgres: SandboxPostgres;
let receiver: WebhookReceiver;
let service: Service;
let api: ApiDescription;
let payer: PrivateKeyAccount;

const start = (): Promise<Service> =>
  world.service({
    ROLES: 'api,worker,history',
    API_KEYS_FILE: file,
    DATABASE_URL: postgres.url,
    WEBHOOK_KEY: 'a key of this test, of no value at all',
    WEBHOOK_ALLOW: receiver.host,
    SETTLE_WAIT_MS: '1000',
    UNCLAIMED_AFTER_MS: '1000',
  });

async function admin(path: string, route = path): Promise<Json> {
  const response = await fetch(`${service.opsUrl}/admin/api/${path}`, {
    headers: { 'X-API-Key': operator.key },
  });
  const body = (await response.json()) as Json;
  expect([path, response.status]).toEqual([path, 200]);
  expect(api.problemsOf('get', `/admin/api/${route}`, 200, body)).toEqual([]);
  return body;
}

const settle = (body: Body, order: string) =>
  post(`${service.url}/settle`, body, { 'X-API-Key': shop.key, 'Idempotency-Key': order });

const aPurchase = (): Promise<Body> =>
  eip3009Body({ payer, chainId: world.chainId, token: world.usd, payTo, amount: AMOUNT });

async function unclaimed(): Promise<Json> {
  const { networks } = await admin('overview');
  const [network] = networks as readonly Json[];
  return network?.['unclaimed'] as Json;
}

const idsIn = (body: Json): readonly unknown[] =>
  (body['settlements'] as readonly Json[]).map(({ settlementId }) => settlementId);

const events = (): readonly unknown[] =>
  receiver
    .at('/a')
    .filter(({ type }) => type === 'settlement.unclaimed')
    .map(({ data }) => data['settlementId']);

beforeAll(async () => {
  writeFileSync(file, JSON.stringify({ version: 1, keys: [operator.record, shop.record] }));
  [world, postgres, receiver] = await Promise.all([
    World.start(),
    startPostgres(),
    WebhookReceiver.start(),
  ]);
  [service, payer] = await Promise.all([start(), world.payer()]);
  api = new ApiDescription((await get(`${service.url}/openapi.json`)).body);
  await eventually(
    'a webhook can be made',
    async () => {
      const made = await post(
        `${service.url}/v2/webhooks`,
        { url: receiver.url('/a') },
        { 'X-API-Key': shop.key },
      );
      if (made.status !== 201) return false;
      receiver.trust('/a', String(made.body['secret']));
      return true;
    },
    PATIENCE_MS,
  );
  await eventually('it is confirmed', () => receiver.challenged.length > 0, PATIENCE_MS);
}, 180_000);
afterAll(async () => {
  receiver.stop();
  await world.stop();
  await postgres.stop();
});

it('shows what was paid and delivered to nobody until its seller comes back, whatever is killed meanwhile', async () => {
  const network = `eip155:${world.chainId}`;
  await world.client.setAutomine(false);
  const [first, second] = [await aPurchase(), await aPurchase()];
  const orders = [
    { body: first, key: 'first-order' },
    { body: second, key: 'second-order' },
  ];
  const ids = await Promise.all(
    orders.map(async ({ body, key }) => {
      const answer = await settle(body, key);
      expect(answer.body).toMatchObject({ errorReason: 'settlement_pending' });
      return answer.headers.get('settlement-id');
    }),
  );
  await world.client.setAutomine(true);
  await eventually(
    'both are unclaimed',
    async () => {
      await world.client.mine({ blocks: 2 });
      return (await unclaimed())['count'] === 2;
    },
    PATIENCE_MS,
  );
  await eventually('the seller was told of both', () => events().length === 2, PATIENCE_MS);
  expect(new Set(events())).toEqual(new Set(ids));

  await service.stop('SIGKILL');
  service = await start();
  const sums = [{ asset: world.usd.toLowerCase(), count: 2, amount: String(2n * AMOUNT) }];
  expect(await unclaimed()).toMatchObject({ count: 2, sums });
  const { body: health } = await get(`${service.opsUrl}/health`);
  expect(health).toMatchObject({ details: { unclaimed: { [network]: { count: 2, sums } } } });
  expect((await scrape(service.opsUrl)).value('x402_settlements_unclaimed', { network })).toBe(2);
  const listed = await admin('settlements?sale=unclaimed', 'settlements');
  expect(new Set(idsIn(listed))).toEqual(new Set(ids));
  expect(listed).toMatchObject({ settlements: [{ paid: true, sale: 'open' }, {}] });

  const sellers = async (sale: string): Promise<readonly unknown[]> => {
    const url = `${service.url}/v2/settlements?sale=${sale}`;
    const response = await fetch(url, { headers: { 'X-API-Key': shop.key } });
    return idsIn((await response.json()) as Json);
  };
  const since = new Date(Date.now() - 86_400_000).toISOString().slice(0, 10);
  const inHistory = `history/settlements?from=${since}&sale=unclaimed`;
  expect(new Set(await sellers('unclaimed'))).toEqual(new Set(ids));
  expect(await sellers('sold')).toEqual([]);
  expect(new Set(idsIn(await admin(inHistory, 'history/settlements')))).toEqual(new Set(ids));

  const again = await settle(first, 'first-order');
  expect(again.body).toMatchObject({ success: true });
  await eventually('one is left', async () => (await unclaimed())['count'] === 1, PATIENCE_MS);
  expect(idsIn(await admin('settlements?sale=unclaimed', 'settlements'))).toEqual([ids[1]]);
  expect(events()).toHaveLength(2);
  await eventually(
    'the lists of sellers say so',
    async () => (await sellers('sold')).includes(ids[0]),
    PATIENCE_MS,
  );
  expect(await sellers('unclaimed')).toEqual([ids[1]]);

  const close = async (key: string, id = ids[1]): Promise<number> => {
    const url = `${service.opsUrl}/admin/api/settlements/${id}/close`;
    return (await fetch(url, { method: 'POST', headers: { 'X-API-Key': key } })).status;
  };
  // The reply to the first may have been lost.
  expect([await close(shop.key), await close(operator.key), await close(operator.key)]).toEqual([
    403, 200, 200,
  ]);
  expect(await admin(`settlements/${ids[1]}`, 'settlements/{id}')).toMatchObject({
    closed: { at: expect.any(String) },
  });
  // The seller of the first has its success.
  expect([await close(operator.key, ids[0]), await close(operator.key, 'nothing')]).toEqual([
    404, 404,
  ]);
  await eventually('none is left', async () => (await unclaimed())['count'] === 0, PATIENCE_MS);
  await eventually(
    'the audit has it',
    async () => {
      const { actions } = await admin('audit');
      return (actions as readonly Json[]).some(
        ({ action, subject, by }) =>
          action === 'unclaimed_closed' && subject === ids[1] && by === operator.record.id,
      );
    },
    PATIENCE_MS,
  );
  await eventually(
    'no list has it any more',
    async () => (await sellers('unclaimed')).length === 0,
    PATIENCE_MS,
  );
  expect(idsIn(await admin(inHistory, 'history/settlements'))).toEqual([]);
  expect(idsIn(await admin('settlements?sale=unclaimed', 'settlements'))).toEqual([]);
  expect(events()).toHaveLength(2);
  // Its seller may still come back with its key.
  expect((await settle(second, 'second-order')).body).toMatchObject({ success: true });
}, 180_000);

it('cannot be closed when it is sold, however late the history is', async () => {
  await world.client.setAutomine(false);
  const body = await aPurchase();
  const id = (await settle(body, 'late-order')).headers.get('settlement-id') ?? '';
  await world.client.setAutomine(true);
  await eventually(
    'it is unclaimed',
    async () => {
      await world.client.mine({ blocks: 2 });
      return (await unclaimed())['count'] === 1;
    },
    PATIENCE_MS,
  );
  const since = new Date(Date.now() - 86_400_000).toISOString().slice(0, 10);
  const inHistory = async (): Promise<readonly unknown[]> =>
    idsIn(await admin(`history/settlements?from=${since}&sale=unclaimed`, 'history/settlements'));
  await eventually('the history has it', async () => (await inHistory()).length === 1, PATIENCE_MS);
  const database = new pg.Client({ connectionString: postgres.url });
  await database.connect();
  let status: number;
  try {
    // The history does not learn of the sale.
    await database.query(`
      create function x402.too_late() returns trigger language plpgsql as $$
      begin raise exception 'too late'; end $$;
      create trigger too_late before update on x402.settlements for each row
      when (new.sale is distinct from 'open') execute function x402.too_late()`);
    expect((await settle(body, 'late-order')).body).toMatchObject({ success: true });
    const url = `${service.opsUrl}/admin/api/settlements/${id}/close`;
    ({ status } = await fetch(url, { method: 'POST', headers: { 'X-API-Key': operator.key } }));
  } finally {
    await database.query('drop function x402.too_late cascade');
    await database.end();
  }
  expect(status).toBe(404);
  const { actions } = await admin('audit');
  expect((actions as readonly Json[]).filter(({ subject }) => subject === id)).toEqual([]);
  await eventually(
    'the history follows',
    async () => (await inHistory()).length === 0,
    PATIENCE_MS,
  );
}, 180_000);

it('can be closed once Redis does not hold it any more, and shows larger payments alone', async () => {
  await world.client.setAutomine(false);
  const id = (await settle(await aPurchase(), 'third-order')).headers.get('settlement-id') ?? '';
  await world.client.setAutomine(true);
  const since = new Date(Date.now() - 86_400_000).toISOString().slice(0, 10);
  const inHistory = async (more = ''): Promise<readonly unknown[]> =>
    idsIn(
      await admin(`history/settlements?from=${since}&sale=unclaimed${more}`, 'history/settlements'),
    );
  await eventually(
    'the history has it',
    async () => {
      await world.client.mine({ blocks: 2 });
      return (await inHistory()).length === 1;
    },
    PATIENCE_MS,
  );
  const listed = async (more: string): Promise<readonly unknown[]> =>
    idsIn(await admin(`settlements?sale=unclaimed${more}`, 'settlements'));
  const larger = `&leastAmount=${AMOUNT + 1n}`;
  for (const list of [listed, inHistory]) {
    expect(await list(`&leastAmount=${AMOUNT}&asset=${world.usd}`)).toEqual([id]);
    expect(await list(larger)).toEqual([]);
  }
  const redis = new Redis(world.redis.url);
  try {
    const keys = await redis.keys(`*:${id}`);
    expect(keys.length).toBeGreaterThan(1);
    await redis.del(keys);
  } finally {
    redis.disconnect();
  }
  const close = async (): Promise<number> => {
    const url = `${service.opsUrl}/admin/api/settlements/${id}/close`;
    return (await fetch(url, { method: 'POST', headers: { 'X-API-Key': operator.key } })).status;
  };
  expect(await inHistory()).toEqual([id]);
  expect([await close(), await close()]).toEqual([200, 200]);
  expect(await inHistory()).toEqual([]);
  const { actions } = await admin('audit');
  const closings = (actions as readonly Json[]).filter(
    ({ action, subject, by }) =>
      action === 'unclaimed_closed' && subject === id && by === operator.record.id,
  );
  expect(closings).toHaveLength(1);
}, 180_000);
