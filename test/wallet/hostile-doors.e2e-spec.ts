import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { USD_NAME, USD_VERSION } from '../../sandbox/deploy.js';
import { post } from '../support/http.js';
import { Inspector } from '../support/inspector.js';
import { newAccount } from '../support/payments.js';
import { dearTypedData, nested } from './hostile-data.js';
import { signed, WalletWorld } from './wallet-world.js';

const STALL_ALLOWED_MS = 200;

type Serve = (request: IncomingMessage, response: ServerResponse) => void;

describe('at the doors of the wallet', () => {
  let wallets: WalletWorld;
  let inspector: Inspector;
  const servers: Server[] = [];

  beforeAll(async () => {
    wallets = await WalletWorld.start({ NODE_OPTIONS: '--inspect=127.0.0.1:0' });
    inspector = await Inspector.of(wallets.service.log());
  });
  afterAll(async () => {
    inspector.close();
    for (const server of servers) {
      server.close();
      server.closeAllConnections();
    }
    await wallets.stop();
  });

  async function serve(handle: Serve): Promise<string> {
    const server = createServer(handle);
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  }

  const rpc = (agent: string, method: string, params: unknown, more: object = {}, key?: string) =>
    wallets.post('/v1/wallets/me/rpc', { method, params, ...more }, agent, key);

  describe('data to sign', () => {
    let agent: string;
    let permissive: string;

    beforeAll(async () => {
      agent = (await wallets.fundedWallet()).agent;
      const other = await wallets.fundedWallet();
      permissive = other.agent;
      const scopes = ['typed_data', 'permit', 'personal_sign', 'send_transaction'];
      const rules = wallets.rules({ scopes });
      await wallets.send('PUT', '/v1/wallets/me/policy', other.ownerToken, rules);
    });

    it.each([
      ['41 KB of it that takes a minute to hash', dearTypedData(1800)],
      ['the same in the name of a payment', dearTypedData(1800, 'TransferWithAuthorization')],
      ['what just passes the bounds', dearTypedData(120)],
    ])('does not stop the event loop: %s', async (_what, typedData) => {
      for (const token of [agent, permissive]) {
        await inspector.watchLoop();
        const answer = await rpc(token, 'eth_signTypedData_v4', { typed_data: typedData });
        expect((await inspector.longestStall()).ownMs).toBeLessThan(STALL_ALLOWED_MS);
        expect([200, 400, 403]).toContain(answer.status);
      }
    });

    it('is refused when it is larger than anybody signs, whatever it is', async () => {
      const text = 'a'.repeat(300_000);
      const transaction = { to: newAccount().address, data: `0x${text}`, value: '0' };
      const caip2 = `eip155:${wallets.world.chainId}`;
      const answers = await Promise.all([
        rpc(permissive, 'personal_sign', { message: text }),
        rpc(permissive, 'eth_sendTransaction', { transaction }, { caip2 }),
        rpc(permissive, 'eth_call', { transaction }, { caip2 }),
      ]);
      expect(answers.map(({ status }) => status)).toEqual([400, 400, 400]);
    });
  });

  describe('JSON that is nested 5000 deep', () => {
    it.each(['lists', 'objects'] as const)('in a request is a 400: %s', async (kind) => {
      const { agent } = await wallets.fundedWallet();
      const body = `{"method":"eth_call","params":${nested(5000, kind)}}`;
      const signing = `{"method":"personal_sign","params":${nested(5000, kind)}}`;
      for (const sent of [body, signing, nested(5000, kind)]) {
        const answer = await wallets.post('/v1/wallets/me/rpc', sent, agent, 'deep');
        expect(answer.status).toBe(400);
      }
      for (const path of ['/v1/login', '/v1/approve', '/v1/wallets/me/payments']) {
        expect((await wallets.post(path, nested(5000, kind), agent)).status).toBe(400);
      }
    });

    it.each(['lists', 'objects'] as const)('in a seller’s offer buys nothing: %s', async (kind) => {
      const { agent } = await wallets.fundedWallet();
      const requirements = {
        scheme: 'exact',
        network: `eip155:${wallets.world.chainId}`,
        asset: wallets.world.usd,
        amount: '1',
        payTo: newAccount().address,
        maxTimeoutSeconds: 60,
      };
      const domain = `"name":"${USD_NAME}","version":"${USD_VERSION}"`;
      const offer = `${JSON.stringify(requirements).slice(0, -1)},"extra":{${domain},"x":${nested(1200, kind)}}}`;
      const header = `{"x402Version":2,"accepts":[${offer}]}`;
      const body = `{"x402Version":2,"accepts":[${offer.replace(nested(1200, kind), nested(5000, kind))}]}`;
      const urls = [
        await serve((_request, response) => {
          response.writeHead(402, { 'payment-required': Buffer.from(header).toString('base64') });
          response.end();
        }),
        await serve((_request, response) => {
          response.writeHead(402);
          response.end(body);
        }),
      ];
      for (const url of urls) {
        const quote = await wallets.post('/v1/wallets/me/payments/quote', { url }, agent);
        const wanted = {
          url,
          maxAmount: '1',
          intentId: `deep-${kind}-${url}`.replace(/[^\w.:-]/g, ''),
        };
        const bought = await wallets.post('/v1/wallets/me/payments', wanted, agent);
        expect([quote.status, quote.body['offers']]).toEqual([200, []]);
        expect(bought.status).toBe(422);
      }
    });
  });

  it('whoever sees the approval link cannot collect the agent’s token', async () => {
    const { body } = await wallets.post('/v1/init', 'true');
    const seen = new URL(String(body['auth_url'])).searchParams.get('code') ?? '';
    expect((await wallets.approve(seen, newAccount())).status).toBe(200);
    const stranger = await wallets.send('GET', `/v1/status?code=${seen}`);
    expect(stranger.body).not.toHaveProperty('token');
    expect(stranger.status).toBe(404);
    const agent = await wallets.send('GET', `/v1/status?code=${String(body['code'])}`);
    expect(agent.body['status']).toBe('completed');
    expect(agent.body['token']).toMatch(/^ey/);
  });

  it('a sign-in message that names another address than its signer is refused', async () => {
    const [named, signer] = [newAccount(), newAccount()];
    const asked = await wallets.post('/v1/login/nonce', { address: named.address });
    const login = await signed(signer, String(asked.body['message']));
    expect((await wallets.post('/v1/login', login)).status).toBe(401);
    const begun = await wallets.post('/v1/init', 'true');
    const code = new URL(String(begun.body['auth_url'])).searchParams.get('code');
    const wanted = await wallets.post('/v1/approve/nonce', { code, address: named.address });
    const approval = await signed(signer, String(wanted.body['message']));
    expect((await wallets.post('/v1/approve', { code, ...approval })).status).toBe(401);
  });

  it('the addresses of one IPv6 /64 are one caller', async () => {
    const { url } = await wallets.another({ TRUST_PROXY: '1', WALLET_RATE_LIMIT: '5' });
    const init = (address: string) =>
      post(`${url}/v1/init`, 'true', { 'X-Forwarded-For': address });
    const statuses = [];
    for (let host = 1; host <= 15; host += 1) {
      statuses.push((await init(`2001:db8:1:2:${host.toString(16)}::1`)).status);
    }
    expect(statuses).toContain(429);
    expect((await init('2001:db8:1:3::1')).status).toBe(200);
    expect((await init('::ffff:203.0.113.7')).status).toBe(200);
  });

  it('a network has few new owners, and keeps none of those that are there out', async () => {
    const { url } = await wallets.another({ TRUST_PROXY: '1', WALLET_RATE_LIMIT: '5' });
    const { ownerToken: known } = await wallets.fundedWallet();
    const use = async (token: string, address: string) => {
      const headers = { authorization: `Bearer ${token}`, 'X-Forwarded-For': address };
      const response = await fetch(`${url}/v1/wallets/me`, { headers });
      return { status: response.status, retryAfter: response.headers.get('retry-after') };
    };
    for (let network = 1; network <= 5; network += 1) {
      const token = await wallets.signIn(newAccount());
      expect((await use(token, `2001:db8:7:${network}::1`)).status).toBe(200);
    }
    const late = await wallets.signIn(newAccount());
    const refused = await use(late, '2001:db8:7:6::1');
    expect(refused.status).toBe(429);
    expect(Number(refused.retryAfter)).toBeGreaterThan(60);
    expect((await use(known, '2001:db8:7:6::1')).status).toBe(200);
    expect((await use(late, '2001:db8:8::1')).status).toBe(200);
  });

  it('a redirect to another origin takes neither headers nor body along', async () => {
    const { agent } = await wallets.fundedWallet();
    const seen: string[] = [];
    const other = await serve((request, response) => {
      request.setEncoding('utf8');
      request.on('data', (chunk: string) => seen.push(chunk));
      request.on('end', () => {
        seen.push(request.headers.authorization ?? '', request.headers['content-type'] ?? '');
        response.end('done');
      });
    });
    const first = await serve((request, response) => {
      request.resume();
      response.writeHead(307, { location: other });
      response.end();
    });
    const wanted = {
      url: first,
      maxAmount: '1',
      intentId: 'redirected',
      body: 'a secret of the buyer',
      headers: { authorization: 'Bearer secret', 'content-type': 'text/plain' },
    };
    const answer = await wallets.post('/v1/wallets/me/payments', wanted, agent);
    expect(answer.body).toMatchObject({ status: 'free', body: 'done' });
    expect(seen.join('')).toBe('');
  });
});
