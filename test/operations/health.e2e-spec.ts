import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { SIGNER } from '../../sandbox/accounts.js';
import { startAnvil } from '../../sandbox/anvil.js';
import { freePort } from '../../sandbox/processes.js';
import { startRedis } from '../../sandbox/redis.js';
import { startService } from '../../sandbox/service.js';
import { eventually, get, post } from '../support/http.js';
import { eip3009Body, newAccount } from '../support/payments.js';
import { World } from '../support/world.js';

const HEALTH = ['/health', '/v1/health', '/v2/health'];

describe('health', () => {
  let world: World;

  beforeEach(async () => {
    world = await World.start({ blockTime: 0.3 });
  });
  afterEach(() => world.stop());

  it('is ok when at least one network can be settled on, and names the others with a code', async () => {
    const port = await freePort();
    const service = await world.service({
      NETWORKS: `eip155:${world.chainId},eip155:5,eip155:6`,
      RPC_URLS_5: `http://127.0.0.1:${port}/a-secret-key`,
      // The chain of 31337 pretends to be 6.
      RPC_URLS_6: world.anvil.url,
      SIGNER_KEYS_6: '',
    });
    await eventually('settles', async () => (await get(`${service.url}/health`)).status === 200);
    for (const path of HEALTH) {
      const { status, body } = await get(service.opsUrl + path);
      expect(status).toBe(200);
      expect(body).toMatchObject({
        status: 'ok',
        details: {
          redis: { status: 'up' },
          networks: {
            status: 'up',
            [`eip155:${world.chainId}`]: { canSettle: true, lanes: 1 },
            'eip155:5': { canSettle: false, code: 'rpc_unreachable' },
            'eip155:6': { canSettle: false, code: 'wrong_chain' },
          },
        },
      });
      expect(JSON.stringify(body)).not.toMatch(/http|secret|127\.0\.0\.1/);
      // The public answer has the states, and no more.
      expect((await get(service.url + path)).body['details']).toEqual({
        redis: { status: 'up' },
        networks: { status: 'up' },
        lanes: { status: 'up' },
        queue: { status: 'up' },
        unclaimed: { status: 'up' },
        settles: { status: 'up' },
        history: { status: 'up' },
      });
    }
    const { body } = await get(`${service.url}/supported`);
    const kinds = body['kinds'] as readonly { readonly scheme: string }[];
    expect(kinds.filter(({ scheme }) => scheme === 'exact')).toEqual([
      { x402Version: 2, scheme: 'exact', network: `eip155:${world.chainId}` },
      { x402Version: 2, scheme: 'exact', network: 'eip155:5' },
      { x402Version: 1, scheme: 'exact', network: 'anvil' },
    ]);
    // Its endpoints are the operator's trouble: neither the payment nor the seller has to change.
    const payment = await eip3009Body({
      payer: newAccount(),
      chainId: 6,
      token: world.usd,
      payTo: newAccount().address,
    });
    expect((await post(`${service.url}/verify`, payment)).body).toMatchObject({
      invalidReason: 'network_unavailable',
    });
    expect((await post(`${service.url}/settle`, payment)).body).toMatchObject({
      errorReason: 'network_unavailable',
    });
  });

  it('is 503 within a second when Redis is away, and comes back by itself', async () => {
    const port = await freePort();
    const redis = await startRedis(port, world.redis.dir);
    const service = await world.service({ REDIS_URL: redis.url });
    await eventually('settles', async () => (await get(`${service.url}/health`)).status === 200);
    await redis.stop('SIGKILL');
    for (const path of [...HEALTH, '/health/ready']) {
      const begun = performance.now();
      const { status, body } = await get(service.url + path);
      expect(performance.now() - begun).toBeLessThan(1000);
      expect(status).toBe(503);
      expect(body).toMatchObject({ status: 'error' });
    }
    expect((await get(`${service.url}/health/live`)).status).toBe(200);

    const again = await startRedis(port, world.redis.dir);
    await eventually('ready', async () => (await get(`${service.url}/health`)).status === 200);
    const body = await eip3009Body({
      payer: await world.payer(),
      chainId: world.chainId,
      token: world.usd,
      payTo: newAccount().address,
    });
    expect((await post(`${service.url}/settle`, body)).body).toMatchObject({ success: true });
    await again.stop('SIGKILL');
  });

  it('is 503 when no network can be settled on, while the process stays ready', async () => {
    const service = await world.service({ ROLES: 'api', SIGNER_KEYS: '' });
    // The first look at a chain takes a busy machine longer than an indicator waits.
    const networks = { [`eip155:${world.chainId}`]: { canSettle: false, code: 'no_lane' } };
    await eventually('it is named', async () => {
      const { status, body } = await get(`${service.opsUrl}/health`);
      expect(status).toBe(503);
      return JSON.stringify(body['error']).includes('"code":"no_lane"');
    });
    expect((await get(`${service.opsUrl}/health`)).body).toMatchObject({ error: { networks } });
    expect((await get(`${service.url}/health/ready`)).status).toBe(200);
  });

  it('finds a network that was lost at boot', async () => {
    const port = await freePort();
    const service = await world.service({
      NETWORKS: 'eip155:777',
      RPC_URLS_777: `http://127.0.0.1:${port}`,
    });
    expect((await get(`${service.url}/health`)).status).toBe(503);
    const late = await startAnvil({ port, chainId: 777, blockTime: 0.3 });
    await eventually(
      'settles',
      async () => (await get(`${service.url}/health`)).status === 200,
      20_000,
    );
    await late.stop('SIGKILL');
  });
});

describe('roles', () => {
  let world: World;

  beforeEach(async () => {
    world = await World.start({ blockTime: 0.3 });
  });
  afterEach(() => world.stop());

  it('settles with asking and settling in processes of their own', async () => {
    const api = await world.service({ ROLES: 'api', SIGNER_KEYS: '' });
    const payer = await world.payer();
    const payTo = newAccount().address;
    const body = await eip3009Body({ payer, chainId: world.chainId, token: world.usd, payTo });
    const early = post(`${api.url}/settle`, body);
    await world.service({ ROLES: 'worker' });
    expect((await early).body).toMatchObject({ success: true });
    expect((await get(`${api.url}/health`)).status).toBe(200);
    const { body: supported } = await get(`${api.url}/supported`);
    expect(supported['signers']).toEqual({ 'eip155:*': [SIGNER.address] });
  });

  it('answers in time that nothing was sent when no worker lives', async () => {
    const api = await world.service({ ROLES: 'api', SIGNER_KEYS: '', SETTLE_WAIT_MS: '1500' });
    const payer = await world.payer();
    const payTo = newAccount().address;
    const body = await eip3009Body({ payer, chainId: world.chainId, token: world.usd, payTo });
    const begun = performance.now();
    const { status, body: answer } = await post(`${api.url}/settle`, body);
    expect(performance.now() - begun).toBeLessThan(2500);
    expect(status).toBe(200);
    expect(answer).toMatchObject({
      success: false,
      errorReason: 'settlement_not_sent',
      transaction: '',
    });
    // A withdrawn settlement can be settled by the same payment later.
    await world.service({ ROLES: 'worker' });
    expect((await post(`${api.url}/settle`, body)).body).toMatchObject({ success: true });
    expect(await world.balance(world.usd, payTo)).toBe(1000n);
  });

  it('a worker without a key refuses to start and names the setting, with all other problems', async () => {
    const failing = startService(await freePort(), {
      ...world.settings({ ROLES: 'worker', SIGNER_KEYS: '', QUEUE_MAX: 'many' }),
    });
    await expect(failing).rejects.toThrow(/SIGNER_KEYS: .*worker[^]*|QUEUE_MAX/);
    await expect(failing).rejects.toThrow(/QUEUE_MAX: must be a whole number/);
  });

  it('says which Redis it misses rather than starting without', async () => {
    const port = await freePort();
    const failing = startService(await freePort(), {
      ...world.settings({ REDIS_URL: `redis://127.0.0.1:${port}` }),
    });
    await expect(failing).rejects.toThrow(/^REDIS_URL: Redis did not become reachable/m);
    // The operator corrects a setting: a stack would not help.
    await expect(failing).rejects.not.toThrow(/StartError/);
  });
});
