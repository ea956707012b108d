import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { HTTPFacilitatorClient } from '@x402/core/server';
import { ExactEvmScheme } from '@x402/evm/exact/server';
import { paymentMiddleware, x402ResourceServer } from '@x402/express';
import express from 'express';
import type { Address } from 'viem';
import type { PrivateKeyAccount } from 'viem/accounts';
import { USD_NAME, USD_VERSION } from '../../sandbox/deploy.js';
import { type SandboxPostgres, startPostgres } from '../../sandbox/postgres.js';
import { freePort } from '../../sandbox/processes.js';
import type { Service } from '../../sandbox/service.js';
import { ApiDescription } from '../support/api-description.js';
import { eventually, get, post } from '../support/http.js';
import { eip3009Body, type Json, newAccount } from '../support/payments.js';
import { World } from '../support/world.js';
import { carrying } from './listing-fixtures.js';

const MEGABYTES_10 = 10_000_000;

/** A seller at an address of its own, for a host is asked once an hour. */
interface Seller {
  readonly origin: string;
  readonly asked: IncomingMessage[];
}

describe('the prober', () => {
  let world: World;
  let postgres: SandboxPostgres;
  let facilitator: Service;
  let payer: PrivateKeyAccount;
  let api: ApiDescription;
  const payTo = newAccount().address;
  const servers: Server[] = [];
  /** Of addresses that the catalogue lists; the last of them is none that may be fetched from. */
  const hosts = Array.from({ length: 12 }, (_, n) => `127.0.1.${n + 1}`);

  beforeAll(async () => {
    [world, postgres] = await Promise.all([World.start(), startPostgres()]);
    const DATABASE_URL = postgres.url;
    const probing = () =>
      world.service({
        DATABASE_URL,
        ROLES: 'history',
        SIGNER_KEYS: '',
        CATALOGUE_PROBE: 'true',
        CATALOGUE_ALLOW: hosts.slice(0, -1).join(','),
        CATALOGUE_URL: 'https://pay.example',
      });
    [facilitator, payer] = await Promise.all([
      world.service({ DATABASE_URL, CATALOGUE_ALLOW: hosts.join(',') }),
      world.payer(),
      probing(),
      probing(),
    ]);
    const ask = () => get(`${facilitator.url}/discovery/resources`);
    await eventually('the tables', async () => (await ask()).status === 200, 60_000);
    api = new ApiDescription((await get(`${facilitator.url}/openapi.json`)).body);
  }, 120_000);
  afterAll(async () => {
    for (const server of servers) server.close();
    for (const server of servers) server.closeAllConnections();
    await Promise.all([world.stop(), postgres.stop()]);
  });

  async function sellerAt(host: string | undefined, answer: RequestListener): Promise<Seller> {
    if (host === undefined) throw new Error('there is no such host');
    const asked: IncomingMessage[] = [];
    const server = createServer((request, response) => {
      asked.push(request);
      answer(request, response);
    });
    servers.push(server);
    const port = await freePort();
    await new Promise<void>((resolve) => server.listen(port, host, resolve));
    return { origin: `http://${host}:${port}`, asked };
  }
  /** Lists a page by a payment for it. */
  async function list(url: string, to: Address = payTo, method = 'GET'): Promise<void> {
    const { chainId, usd: token } = world;
    const body = await eip3009Body({ payer, chainId, token, payTo: to });
    const bodyType = method === 'POST' ? { bodyType: 'json', body: {} } : {};
    const info = { input: { type: 'http', method, ...bodyType } };
    const carried = { resource: { url }, extensions: { bazaar: { info } } };
    const settled = await post(`${facilitator.url}/settle`, carrying(body, carried));
    expect(settled.body).toMatchObject({ success: true });
  }
  async function probeOf(url: string): Promise<Json | undefined> {
    const path = `/discovery/status?resource=${encodeURIComponent(url)}`;
    const { status, body } = await get(facilitator.url + path);
    expect(api.problemsOf('get', '/discovery/status', status, body)).toEqual([]);
    const [known] = body['known'] as readonly Json[];
    return known?.['probe'] as Json | undefined;
  }
  async function stateBecomes(url: string, state: string, status?: number): Promise<void> {
    await eventually(`${url} is looked at`, async () => (await probeOf(url)) !== undefined, 30_000);
    const probe = await probeOf(url);
    expect([probe?.['state'], probe?.['status']]).toEqual([state, status]);
  }
  const aliveItems = async () => {
    const { body } = await get(`${facilitator.url}/discovery/resources?alive=true`);
    return (body['items'] as readonly Json[]).map(({ resource }) => resource);
  };
  const pathsOf = ({ asked }: Seller) => asked.map(({ url }) => url);
  const terms = () => {
    const network = `eip155:${world.chainId}`;
    const required = { x402Version: 2, accepts: [{ scheme: 'exact', network, payTo }] };
    return Buffer.from(JSON.stringify(required)).toString('base64');
  };

  it('finds a stock seller alive, asks it once by two processes, and says who asks', async () => {
    const network = `eip155:${world.chainId}` as const;
    const extra = { name: USD_NAME, version: USD_VERSION };
    const price = { amount: '1000', asset: world.usd, extra };
    const stock = new HTTPFacilitatorClient({ url: facilitator.url });
    const app = express().use(
      paymentMiddleware(
        { 'GET /weather': { accepts: { scheme: 'exact', network, payTo, price } } },
        new x402ResourceServer(stock).register(network, new ExactEvmScheme()),
      ),
    );
    const seller = await sellerAt(hosts[0], app);
    const url = `${seller.origin}/weather`;
    await list(url);
    await stateBecomes(url, 'alive', 402);
    const { body, status } = await get(`${facilitator.url}/discovery/merchant?payTo=${payTo}`);
    expect(api.problemsOf('get', '/discovery/merchant', status, body)).toEqual([]);
    expect(body['resources']).toMatchObject([{ resource: url, probe: { state: 'alive' } }]);
    expect(await aliveItems()).toContain(url);
    // Another entry of the host waits for its turn.
    await list(`${seller.origin}/later`);
    await list(`${seller.origin}/order`, payTo, 'POST');
    await stateBecomes(`${seller.origin}/order`, 'not_probed');
    expect(pathsOf(seller)).toEqual(['/robots.txt', '/weather']);
    expect(seller.asked[1]?.headers).toMatchObject({
      'user-agent': 'PaymentCatalogue/1.0 (+https://pay.example/)',
    });
    expect(await aliveItems()).not.toContain(`${seller.origin}/later`);
  });

  const HOSTILE: readonly (readonly [
    string,
    number,
    string,
    number | undefined,
    RequestListener,
  ])[] = [
    ['goods for nothing', 1, 'not_402', 200, (_, response) => response.end('{}')],
    [
      ...(['a 402 of somebody else', 2, 'wrong_payee', 402] as const),
      (_, response) => {
        const accepts = [{ network: 'anvil', payTo: newAccount().address }];
        response.writeHead(402).end(JSON.stringify({ x402Version: 1, accepts }));
      },
    ],
    [
      ...(['a robots.txt of 10 MB that forbids it', 3, 'robots', undefined] as const),
      ({ url }, response) => {
        const rules = 'User-agent: paymentcatalogue\nDisallow: /\n';
        const filling = '# nothing\n'.repeat(MEGABYTES_10 / 10);
        response.writeHead(url === '/robots.txt' ? 200 : 402).end(rules + filling);
      },
    ],
    [
      ...(['a 402 of 10 MB', 4, 'alive', 402] as const),
      ({ url }, response) => {
        if (url === '/robots.txt') response.writeHead(404).end();
        else {
          response.writeHead(402, { 'PAYMENT-REQUIRED': terms() });
          response.end(Buffer.alloc(MEGABYTES_10));
        }
      },
    ],
    [
      ...(['a 402 without end', 5, 'unreachable', undefined] as const),
      ({ url }, response) => {
        if (url === '/robots.txt') response.writeHead(404).end();
        else response.writeHead(402, { 'PAYMENT-REQUIRED': terms() }).write('{');
      },
    ],
    [
      ...(['headers without end', 6, 'unreachable', undefined] as const),
      (_, { socket }) => {
        socket?.write(`HTTP/1.1 402 Payment Required\r\nX: ${'x'.repeat(MEGABYTES_10)}`);
      },
    ],
  ];
  it.each(HOSTILE)('bears %s', async (_, number, state, status, answer) => {
    const seller = await sellerAt(hosts[number], answer);
    const url = `${seller.origin}/page`;
    await list(url);
    await stateBecomes(url, state, status);
    expect((await aliveItems()).includes(url)).toBe(state === 'alive');
  });

  it('follows a redirect to the host it asks, and to no other', async () => {
    const other = await sellerAt(hosts[8], (_, response) => response.writeHead(402).end());
    const seller = await sellerAt(hosts[9], ({ url }, response) => {
      if (url === '/robots.txt') response.writeHead(404).end();
      else response.writeHead(302, { location: url === '/a' ? '/b' : other.origin }).end();
    });
    await list(`${seller.origin}/a`);
    await stateBecomes(`${seller.origin}/a`, 'not_402', 302);
    expect([pathsOf(seller), pathsOf(other)]).toEqual([['/robots.txt', '/a', '/b'], []]);
  });

  it('asks nobody at an address that is not public, whatever is listed', async () => {
    const seller = await sellerAt(hosts[11], (_, response) => response.writeHead(402).end());
    await list(`${seller.origin}/inside`);
    await stateBecomes(`${seller.origin}/inside`, 'unreachable');
    expect(pathsOf(seller)).toEqual([]);
  });
});
