import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { SIGNER } from '../../sandbox/accounts.js';
import { freePort } from '../../sandbox/processes.js';
import { type SandboxRedis, startRedis } from '../../sandbox/redis.js';
import type { Service } from '../../sandbox/service.js';
import { eventually, get, post } from '../support/http.js';
import { type Body, eip3009Body, newAccount, permit2Body } from '../support/payments.js';
import { World } from '../support/world.js';

const REDIS_PASSWORD = 'a-secret-redis-password';
const SECRETS = {
  'RPC key': 'a-secret-rpc-key',
  'RPC password': 'a-secret-rpc-password',
  'Redis password': REDIS_PASSWORD,
  'API key': 'a-secret-api-key',
  'signer key': SIGNER.key.slice(2),
  cookie: 'a-secret-cookie',
};

const BAD_IDS = ['x'.repeat(65), 'a b', '"}{"', '../etc', 'é'];

interface Line {
  readonly level: number;
  readonly msg: string;
  readonly requestId?: string;
  readonly settlementId?: string;
  readonly settlementIds?: readonly string[];
}

describe('the log of a run in which everything goes wrong once', () => {
  let world: World;
  let service: Service;
  let lines: readonly Line[];
  let settledId: string;
  const sent: Body[] = [];
  const started: SandboxRedis[] = [];

  beforeAll(async () => {
    world = await World.start({ blockTime: 0.3 });
    const port = await freePort();
    const redis = await startProtectedRedis(port);
    const { host } = new URL(world.anvil.url);
    const open = `http://user:${SECRETS['RPC password']}@${host}/?key=${SECRETS['RPC key']}`;
    const closed = `http://127.0.0.1:${await freePort()}/${SECRETS['RPC key']}`;
    service = await world.service({
      REDIS_URL: `redis://:${REDIS_PASSWORD}@127.0.0.1:${port}`,
      [`RPC_URLS_${world.chainId}`]: `${open},${closed}`,
      LOG_LEVEL: 'trace',
    });
    await eventually('settles', async () => (await get(`${service.url}/health`)).status === 200);
    await run();

    const [unheard, unheld] = [await payment(), await payment()];
    world.anvil.child.kill('SIGSTOP');
    await settle(unheard);
    world.anvil.child.kill('SIGCONT');
    await redis.stop('SIGKILL');
    await settle(unheld);
    await startProtectedRedis(port);
    await eventually('settles', async () => (await get(`${service.url}/health`)).status === 200);
    await service.stop();
    lines = service
      .log()
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Line);
  });
  afterAll(async () => {
    await Promise.all(started.map((redis) => redis.stop('SIGKILL')));
    await world.stop();
  });

  async function startProtectedRedis(port: number): Promise<SandboxRedis> {
    const redis = await startRedis(port, world.redis.dir);
    started.push(redis);
    const client = new Redis(redis.url);
    await client.config('SET', 'requirepass', REDIS_PASSWORD);
    client.disconnect();
    return redis;
  }

  async function payment(): Promise<Body> {
    const payTo = newAccount().address;
    const payer = await world.payer();
    return eip3009Body({ payer, chainId: world.chainId, token: world.usd, payTo });
  }

  function settle(body: Body, headers: Readonly<Record<string, string>> = {}) {
    sent.push(body);
    return post(`${service.url}/settle`, body, headers);
  }

  async function run(): Promise<void> {
    const secret = {
      authorization: `Bearer ${SECRETS['API key']}`,
      'x-api-key': SECRETS['API key'],
      cookie: `session=${SECRETS.cookie}`,
    };
    const { headers, body } = await settle(await payment(), {
      ...secret,
      'x-request-id': 'order-1.of_3',
    });
    expect(body).toMatchObject({ success: true });
    expect(headers.get('x-request-id')).toBe('order-1.of_3');
    settledId = headers.get('settlement-id') ?? '';

    const payTo = newAccount().address;
    const payer = await world.payer({ approves: true });
    await settle(await permit2Body({ payer, chainId: world.chainId, token: world.coin, payTo }));
    const poor = await payment();
    poor.paymentRequirements['amount'] = '77';
    await settle(poor, secret);
    // Broken JSON that holds a live authorization, and one in a query.
    const live = await payment();
    sent.push(live);
    await post(`${service.url}/settle`, JSON.stringify(live).slice(0, -1));
    const encode = (part: unknown): string =>
      Buffer.from(JSON.stringify(part)).toString('base64url');
    await get(
      `${service.url}/verify?paymentPayload=${encode(live.paymentPayload)}&paymentRequirements=${encode(live.paymentRequirements)}`,
    );
    await get(`${service.url}/${'long'.repeat(500)}`);
    for (const id of BAD_IDS) {
      const response = await fetch(`${service.url}/supported`, { headers: { 'x-request-id': id } });
      expect(response.headers.get('x-request-id')).toMatch(/^[\w-]{36}$/);
    }
  }

  it('is made of JSON lines', () => {
    expect(lines.length).toBeGreaterThan(10);
    for (const line of lines) expect(typeof line.level).toBe('number');
  });

  it.each(Object.entries(SECRETS))('has no %s in it', (_, secret) => {
    expect(service.log()).not.toContain(secret);
  });

  it('has no signature and no signed transaction in it, and no URL of an endpoint', () => {
    const log = service.log();
    const signatures = sent.map(({ paymentPayload }) => {
      const { signature } = paymentPayload['payload'] as { readonly signature: string };
      return signature;
    });
    expect(signatures).toHaveLength(6);
    for (const signature of signatures) {
      expect(log).not.toContain(signature);
      expect(log).not.toContain(Buffer.from(signature).toString('base64url').slice(4, 44));
    }
    // Nothing as long as a signature: hashes have 64 digits, addresses 40.
    expect(log).not.toMatch(/[0-9a-f]{65}/i);
    expect(log).not.toContain(new URL(world.anvil.url).host);
    expect(log).not.toContain('long'.repeat(50));
  });

  it('has the id of a settlement on each line of it, and of the request on its own', () => {
    const own = lines.filter(
      ({ settlementId, settlementIds }) =>
        settlementId === settledId || settlementIds?.includes(settledId) === true,
    );
    const messages = new Set(own.map(({ msg }) => msg));
    expect(messages).toContain('transaction sent');
    expect(messages).toContain('transaction included');
    expect(messages).toContain('request');
    expect(own.filter(({ msg }) => msg === 'request')).toMatchObject([
      { requestId: 'order-1.of_3', path: '/settle', status: 200 },
    ]);
    const steps = /^(transaction|settlement|a batch|no RPC endpoint|a reorganisation)/;
    const nameless = lines.filter(
      ({ msg, settlementId, settlementIds }) =>
        steps.test(msg) && settlementId === undefined && settlementIds === undefined,
    );
    expect(nameless).toEqual([]);
  });

  it('does not repeat a request id that is not one', () => {
    const ids = lines.flatMap(({ msg, requestId }) => (msg === 'request' ? [requestId] : []));
    expect(ids.length).toBeGreaterThan(BAD_IDS.length);
    for (const id of BAD_IDS) expect(ids).not.toContain(id);
  });
});
