import type { Server } from 'node:http';
import { afterAll, beforeAll, describe, expect } from '@jest/globals';
import { HTTPFacilitatorClient } from '@x402/core/server';
import { ExactEvmScheme } from '@x402/evm/exact/server';
import { paymentMiddleware, x402ResourceServer } from '@x402/express';
import { declareDiscoveryExtension, withBazaar } from '@x402/extensions/bazaar';
import express from 'express';
import { type Address, getAddress } from 'viem';
import type { PrivateKeyAccount } from 'viem/accounts';
import { stockBuyerAs } from '../../sandbox/buyer.js';
import { USD_NAME, USD_VERSION } from '../../sandbox/deploy.js';
import { type SandboxPostgres, startPostgres } from '../../sandbox/postgres.js';
import { freePort } from '../../sandbox/processes.js';
import { listen } from '../../sandbox/seller.js';
import type { Service } from '../../sandbox/service.js';
import { ApiDescription } from '../support/api-description.js';
import { type Answer, eventually, get, post } from '../support/http.js';
import { deep, it } from '../support/part.js';
import { type Body, eip3009Body, type Json, newAccount, v1Body } from '../support/payments.js';
import { World } from '../support/world.js';
import { type Carried, carrying, LISTING_FIXTURES } from './listing-fixtures.js';

const HOST = 'https://shop.example.com';
const GET_INPUT = { type: 'http', method: 'GET' };
const DECLARED = { bazaar: { info: { input: GET_INPUT } } };

interface Item extends Json {
  readonly resource: string;
}

describe('the catalogue', () => {
  let world: World;
  let postgres: SandboxPostgres;
  let facilitator: Service;
  let history: Service;
  let payer: PrivateKeyAccount;
  let api: ApiDescription;
  const servers: Server[] = [];

  const settings = () => ({ DATABASE_URL: postgres.url, CATALOGUE_ALLOW: '127.0.0.1' });
  const startHistory = () => world.service({ ...settings(), ROLES: 'history', SIGNER_KEYS: '' });

  beforeAll(async () => {
    [world, postgres] = await Promise.all([World.start(), startPostgres()]);
    [facilitator, history, payer] = await Promise.all([
      world.service(settings()),
      startHistory(),
      world.payer(),
    ]);
    await eventually('the tables', async () => (await ask('/resources')).status === 200, 60_000);
    api = new ApiDescription((await get(`${facilitator.url}/openapi.json`)).body);
  }, 120_000);
  afterAll(async () => {
    for (const server of servers) server.close();
    await Promise.all([world.stop(), postgres.stop()]);
  });

  const ask = (path: string, prefix = '') => get(`${facilitator.url}${prefix}/discovery${path}`);
  const itemsOf = ({ body }: Answer) => (body['items'] ?? body['resources']) as readonly Item[];
  const merchant = async (payTo: Address) => itemsOf(await ask(`/merchant?payTo=${payTo}`));
  const statusOf = async (resource: string, payTo?: Address) => {
    const query = new URLSearchParams({ resource, ...(payTo && { payTo }) });
    return (await ask(`/status?${query.toString()}`)).body;
  };
  async function codeBecomes(resource: string, code: string, payTo?: Address): Promise<void> {
    await eventually(`${resource} is ${code}`, async () => {
      return (await statusOf(resource, payTo))['code'] === code;
    });
  }
  const payment = (payTo: Address, more: object = {}): Promise<Body> =>
    eip3009Body({ payer, chainId: world.chainId, token: world.usd, payTo, ...more });
  const settle = (body: Body, headers = {}, at = facilitator) =>
    post(`${at.url}/settle`, body, headers);
  const sell = async (payTo: Address, carried: Carried, more: object = {}) =>
    settle(carrying(await payment(payTo, more), carried));
  function saidOf({ headers }: Answer): Json | undefined {
    const header = headers.get('extension-responses');
    if (header === null) return undefined;
    return (JSON.parse(Buffer.from(header, 'base64').toString()) as Json)['bazaar'] as Json;
  }
  function expectDescribed(path: string, { status, body }: Answer): void {
    expect(api.problemsOf('get', `/discovery${path}`, status, body)).toEqual([]);
  }

  it('lists what a stock seller declares by one purchase, and the stock client finds it', async () => {
    const payTo = newAccount().address;
    const stock = new HTTPFacilitatorClient({ url: facilitator.url });
    const network = `eip155:${world.chainId}` as const;
    const app = express();
    app.use(
      paymentMiddleware(
        {
          'GET /weather/:city': {
            accepts: {
              scheme: 'exact',
              network,
              payTo,
              maxTimeoutSeconds: 300,
              price: {
                amount: '1000',
                asset: world.usd,
                extra: { name: USD_NAME, version: USD_VERSION },
              },
            },
            description: 'Weather of a city, hour by hour',
            mimeType: 'application/json',
            extensions: declareDiscoveryExtension({
              input: { unit: 'celsius' },
              inputSchema: { properties: { unit: { type: 'string' } } },
              output: { example: { degrees: 7 } },
            }),
          },
        },
        new x402ResourceServer(stock).register(network, new ExactEvmScheme()),
      ),
    );
    app.get('/weather/:city', (_request, response) => {
      response.json({ degrees: 7 });
    });
    const port = await freePort();
    servers.push(await listen(app, port));
    const origin = `http://127.0.0.1:${port}`;

    const bought = await stockBuyerAs(payer, world.anvil.url).buy(
      `${origin}/weather/berlin?unit=celsius`,
    );

    expect(bought.status).toBe(200);
    const { bazaar } = withBazaar(stock).extensions;
    await eventually('it is listed', async () => {
      const { items } = await bazaar.listResources({ payTo });
      return items.length === 1;
    });
    const { items, pagination } = await bazaar.listResources({
      type: 'http',
      network,
      limit: 1000,
    });
    const [item] = items.filter(({ resource }) => resource.startsWith(origin));
    expect(item).toMatchObject({
      resource: `${origin}/weather/:city`,
      exampleUrl: `${origin}/weather/berlin`,
      type: 'http',
      x402Version: 2,
      description: 'Weather of a city, hour by hour',
      accepts: [
        {
          scheme: 'exact',
          network,
          amount: '1000',
          maxTimeoutSeconds: 300,
          asset: getAddress(world.usd),
          payTo: getAddress(payTo),
          extra: { name: USD_NAME, version: USD_VERSION },
        },
      ],
    });
    expect(pagination.total).toBeGreaterThanOrEqual(1);
    const found = await bazaar.search({ query: 'weather hour' });
    expect(found.resources.map(({ resource }) => resource)).toContain(`${origin}/weather/:city`);
    expect(await codeOf(`${origin}/weather/berlin?unit=fahrenheit`)).toBe('listed');
    expect(await codeOf(`${origin}/weather/paris`)).toBe('listed');
    expect(await codeOf(`${origin}/weather/paris/now`)).toBe('unknown');
    expectDescribed('/resources', await ask('/resources'));
    expectDescribed('/search', await ask('/search?query=weather'));
    expectDescribed('/merchant', await ask(`/merchant?payTo=${payTo}`));
  });

  const codeOf = async (resource: string) => (await statusOf(resource))['code'];

  deep.each(LISTING_FIXTURES)('says what becomes of $name', async (fixture) => {
    const payTo = newAccount().address;
    const { chainId, usd: token } = world;
    const body =
      fixture.v1 === undefined
        ? carrying(await payment(payTo), fixture.carried ?? {})
        : await v1Body({ payer, chainId, token, payTo, network: 'anvil' });
    Object.assign(body.paymentRequirements, fixture.v1);

    const settled = await settle(body);

    expect(settled.body).toMatchObject({ success: true });
    expect(saidOf(settled)?.['code']).toBe(fixture.said);
    await codeBecomes(fixture.asked, fixture.code, payTo);
    const items = await merchant(payTo);
    expect(items).toMatchObject(fixture.listed === undefined ? [] : [fixture.listed]);
    const query = new URLSearchParams({ resource: fixture.asked });
    expectDescribed('/status', await ask(`/status?${query.toString()}`));
  });

  it('lists nothing of a payment that was not made', async () => {
    const payTo = newAccount().address;
    const resource = { url: `${HOST}/unpaid` };
    const refused = await sell(payTo, { resource, extensions: DECLARED }, { validFor: -10 });
    expect(refused.body).toMatchObject({ success: false });
    expect(saidOf(refused)).toMatchObject({ status: 'rejected', code: 'not_settled' });
    const verified = await post(
      `${facilitator.url}/verify`,
      carrying(await payment(payTo), { resource, extensions: DECLARED }),
    );
    expect(verified.body).toMatchObject({ isValid: true });
    await sell(payTo, { resource: { url: `${HOST}/paid` }, extensions: DECLARED });
    await codeBecomes(`${HOST}/paid`, 'listed', payTo);
    expect((await merchant(payTo)).map(({ resource: url }) => url)).toEqual([`${HOST}/paid`]);
  });

  it('leaves each payee its own entry, and shows what it declared last', async () => {
    const [mine, theirs] = [newAccount().address, newAccount().address];
    const of = (description: string) => ({
      resource: { url: `${HOST}/mine`, description },
      extensions: DECLARED,
    });
    await sell(mine, of('old'));
    await sell(theirs, of('stolen'));
    await sell(mine, of('new'));
    await eventually('the new one is shown', async () => {
      return (await merchant(mine))[0]?.['description'] === 'new';
    });
    expect(await merchant(theirs)).toMatchObject([{ description: 'stolen', otherPayees: 1 }]);
    expect(await merchant(mine)).toMatchObject([{ description: 'new', otherPayees: 1 }]);
  });

  deep('takes no words of who only joins the settle of another', async () => {
    const payTo = newAccount().address;
    const body = await payment(payTo);
    const own = carrying(body, { resource: { url: `${HOST}/own` }, extensions: DECLARED });
    const other = carrying(body, { resource: { url: `${HOST}/smuggled` }, extensions: DECLARED });
    const first = settle(own);
    await new Promise((resolve) => setTimeout(resolve, 50));
    const later = await Promise.all(Array.from({ length: 5 }, () => settle(other)));
    expect((await first).body).toMatchObject({ success: true });
    for (const answer of later) {
      expect(['not_settled', 'first_request_counts']).toContain(saidOf(answer)?.['code']);
    }
    await codeBecomes(`${HOST}/own`, 'listed', payTo);
    expect((await merchant(payTo)).map(({ resource }) => resource)).toEqual([`${HOST}/own`]);
  });

  deep('lists what was handed out, though the process that took it was killed', async () => {
    const payTo = newAccount().address;
    const till = await world.service({ ...settings(), ROLES: 'api' });
    const resource = { url: `${HOST}/handed-out` };
    const body = carrying(await payment(payTo), { resource, extensions: DECLARED });
    const handedOut = await settle(body, { Prefer: 'respond-async' }, till);
    await till.stop('SIGKILL');
    expect([handedOut.status, saidOf(handedOut)?.['code']]).toEqual([202, 'awaiting_outcome']);
    await codeBecomes(`${HOST}/handed-out`, 'listed', payTo);
  });

  deep('learns what was paid while nobody was there to learn, and each once', async () => {
    const payTo = newAccount().address;
    await history.stop('SIGKILL');
    const paths = ['a', 'b', 'c', 'a', 'b', 'a'];
    for (const path of paths) {
      await sell(payTo, { resource: { url: `${HOST}/later/${path}` }, extensions: DECLARED });
    }
    expect(await merchant(payTo)).toEqual([]);
    history = await startHistory();
    await eventually('they are listed', async () => (await merchant(payTo)).length === 3, 30_000);
    const keys = await redisKeys();
    expect(keys.filter((key) => key.endsWith(':declared:texts'))).toEqual([]);
  });

  async function redisKeys(): Promise<string[]> {
    const { Redis } = await import('ioredis');
    const redis = new Redis(world.redis.url);
    try {
      await eventually('nothing waits', async () => {
        return (await redis.xlen(`x402:{${world.chainId}:0}:declared`)) === 0;
      });
      return await redis.keys('*');
    } finally {
      redis.disconnect();
    }
  }

  it('publishes nothing of a payment but what was declared', async () => {
    const payTo = newAccount().address;
    const secret = 'SECRET-OF-A-BUYER';
    const bazaar = {
      ...DECLARED.bazaar,
      signature: secret,
      info: { input: { ...GET_INPUT, secret } },
    };
    const extensions = { bazaar, other: { signedTransaction: secret } };
    await sell(payTo, { resource: { url: `${HOST}/private?token=${secret}` }, extensions });
    await codeBecomes(`${HOST}/private`, 'listed', payTo);
    expect(JSON.stringify(await merchant(payTo))).not.toContain(secret);
  });

  it('is read by clients of V1 as they read it', async () => {
    const payTo = newAccount().address;
    const { chainId, usd: token } = world;
    const body = await v1Body({ payer, chainId, token, payTo, network: 'anvil' });
    const outputSchema = { input: GET_INPUT, output: { celsius: 'number' } };
    Object.assign(body.paymentRequirements, { outputSchema, resource: `${HOST}/of-v1` });
    await settle(body);
    await codeBecomes(`${HOST}/of-v1`, 'listed', payTo);
    // The question mark is there even where nothing is asked.
    const { status, body: list } = await ask('/resources?', '/v1');
    expect([status, list['x402Version']]).toEqual([200, 1]);
    const items = list['items'] as readonly Item[];
    expect(items.every((item) => item['x402Version'] === 1 && item['type'] === 'http')).toBe(true);
    expect(items.find((item) => item.resource === `${HOST}/of-v1`)).toMatchObject({
      accepts: [{ network: 'anvil', maxAmountRequired: '1000', outputSchema }],
    });
  });

  it('may be kept by caches, and asked by pages of any origin', async () => {
    const first = await ask('/resources?limit=1');
    expect(first.headers.get('access-control-allow-origin')).toBe('*');
    expect(first.headers.get('cache-control')).toBe('public, max-age=1');
    const etag = first.headers.get('etag') ?? '';
    const again = await fetch(`${facilitator.url}/discovery/resources?limit=1`, {
      headers: { 'if-none-match': etag },
    });
    expect([etag.length > 10, again.status, await again.text()]).toEqual([true, 304, '']);
  });

  it('refuses what it cannot read, and names it', async () => {
    const refused = await ask('/resources?payTo=me&limit=x');
    expect(refused.status).toBe(400);
    expect(refused.body).toMatchObject({ code: 'invalid_query' });
    const said = String(refused.body['error']);
    expect([said.includes('payTo must'), said.includes('limit must')]).toEqual([true, true]);
    expectDescribed('/resources', refused);
    expect((await ask('/merchant')).status).toBe(400);
    expect((await ask('/nothing')).status).toBe(404);
  });

  it('says beforehand whether something would be listed', async () => {
    const { paymentRequirements: offer } = await payment(newAccount().address);
    const sent = { x402Version: 2, accepts: [offer], resource: { url: `${HOST}/soon` } };
    const validate = async (body: unknown) => {
      const answer = await post(`${facilitator.url}/discovery/validate`, body);
      const { status } = answer;
      expect(api.problemsOf('post', '/discovery/validate', status, answer.body)).toEqual([]);
      return answer.body;
    };
    expect(await validate({ ...sent, extensions: DECLARED })).toMatchObject({
      valid: true,
      code: 'would_be_listed',
    });
    expect(await validate(sent)).toMatchObject({ valid: false, code: 'not_declared' });
    expect(await validate([])).toMatchObject({ error: expect.stringContaining('accepts') });
  });

  it('does not show what the operator denies', async () => {
    const payTo = newAccount().address;
    await sell(payTo, { resource: { url: `${HOST}/denied` }, extensions: DECLARED });
    await codeBecomes(`${HOST}/denied`, 'listed', payTo);
    const { default: pg } = await import('pg');
    const client = new pg.Client({ connectionString: postgres.url });
    await client.connect();
    await client.query('insert into x402.catalogue_denials (kind, value) values ($1, $2)', [
      'payee',
      payTo.toLowerCase(),
    ]);
    await client.end();
    expect([await merchant(payTo), (await statusOf(`${HOST}/denied`, payTo))['code']]).toEqual([
      [],
      'denied',
    ]);
    // What a settle says of it was read some seconds ago.
    await eventually(
      'a settle says so',
      async () => {
        const carried = { resource: { url: `${HOST}/denied` }, extensions: DECLARED };
        return saidOf(await sell(payTo, carried))?.['code'] === 'denied';
      },
      30_000,
    );
  });
});

describe('without a database', () => {
  let world: World;
  let service: Service;

  beforeAll(async () => {
    world = await World.start();
    service = await world.service();
  });
  afterAll(() => world.stop());

  it('the catalogue is empty, and a settle says that there is none', async () => {
    const { bazaar } = withBazaar(new HTTPFacilitatorClient({ url: service.url })).extensions;
    expect(await bazaar.listResources()).toMatchObject({ items: [], pagination: { total: 0 } });
    expect(await bazaar.search({ query: 'weather' })).toMatchObject({ resources: [] });
    const { chainId, usd: token } = world;
    const payer = await world.payer();
    const payTo = newAccount().address;
    const body = carrying(await eip3009Body({ payer, chainId, token, payTo }), {
      resource: { url: `${HOST}/a` },
      extensions: DECLARED,
    });
    const settled = await post(`${service.url}/settle`, body);
    expect(settled.body).toMatchObject({ success: true });
    const said = Buffer.from(settled.headers.get('extension-responses') ?? '', 'base64').toString();
    expect(JSON.parse(said)).toMatchObject({
      bazaar: { status: 'rejected', code: 'catalogue_off' },
    });
    const status = await get(`${service.url}/discovery/status?resource=${HOST}/a`);
    expect(status.body).toMatchObject({ listed: false, code: 'catalogue_off' });
  });
});
