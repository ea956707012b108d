import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
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

  const close = async (key: string): Promise<number> => {
    const url = `${service.opsUrl}/admin/api/settlements/${ids[1]}/close`;
    return (await fetch(url, { method: 'POST', headers: { 'X-API-Key': key } })).status;
  };
  expect([await close(shop.key), await close(operator.key), await close(operator.key)]).toEqual([
    403, 200, 404,
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
