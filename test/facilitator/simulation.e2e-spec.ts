import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import type { Service } from '../../sandbox/service.js';
import { createApiKey } from '../../src/operations/access/api-key.js';
import { ApiDescription } from '../support/api-description.js';
import { type Answer, eventually, get, post } from '../support/http.js';
import { type Body, eip3009Body, type Json, newAccount, v1Body } from '../support/payments.js';
import { World } from '../support/world.js';

const HASH = /^0x73696d756c61746564[0-9a-f]{46}$/;
const tester = createApiKey('tester', ['verify', 'settle', 'simulate']);
const shop = createApiKey('shop', ['verify', 'settle']);
const file = join(mkdtempSync(join(tmpdir(), 'x402-simulate-')), 'keys.json');
writeFileSync(file, JSON.stringify({ version: 1, keys: [tester.record, shop.record] }));

describe('X-Simulate', () => {
  let world: World;
  let service: Service;
  let api: ApiDescription;
  let redis: Redis;

  const payment = async (): Promise<Body> =>
    eip3009Body({
      payer: await world.payer(),
      chainId: world.chainId,
      token: world.usd,
      payTo: newAccount().address,
    });
  const settle = (body: Body, outcome: string, path = '/settle', key = tester.key) =>
    post(service.url + path, body, { 'X-API-Key': key, 'X-Simulate': outcome });
  const look = (id: string | null): Promise<Answer> =>
    get(`${service.url}/v2/settlements/${id ?? ''}`);
  const described = (method: string, path: string, { status, body }: Answer): void => {
    expect(api.problemsOf(method, path, status, body)).toEqual([]);
  };
  const keys = async (): Promise<string[]> => {
    const all = await redis.keys('*');
    return all.filter((key) => !/^x402:\{simulation\}:|:bull:|process|lane/.test(key)).sort();
  };

  beforeAll(async () => {
    world = await World.start();
    service = await world.service({ API_KEYS_FILE: file, SETTLE_WAIT_MS: '5000' });
    api = new ApiDescription((await get(`${service.url}/openapi.json`)).body);
    redis = new Redis(world.redis.url);
  });
  afterAll(async () => {
    redis.disconnect();
    await world.stop();
  });

  it('plays every outcome at once that is one, in V1 and V2, and touches nothing', async () => {
    const before = { keys: await keys(), block: await world.client.getBlockNumber() };
    for (const [outcome, isSuccess, state] of [
      ['reverted', false, 'reverted'],
      ['expired', false, 'expired'],
      ['duplicate', false, 'finalized'],
      ['pending', false, 'broadcast'],
      ['reorg', true, 'included'],
    ] as const) {
      // Payers without any money: nothing but the answer is there.
      const terms = { payer: newAccount(), token: world.usd, payTo: newAccount().address };
      const v2 = await eip3009Body({ ...terms, chainId: world.chainId });
      const v1 = await v1Body({ ...terms, chainId: world.chainId, network: 'anvil' });
      for (const [path, body] of [
        ['/v2/settle', v2],
        ['/v1/settle', v1],
      ] as const) {
        const answer = await settle(body, outcome, path);
        expect(answer.status).toBe(200);
        expect(answer.headers.get('x-simulated')).toBe('true');
        expect(answer.body).toMatchObject({ success: isSuccess });
        expect(answer.body['transaction']).toMatch(HASH);
        described('post', path, answer);
        const found = await look(answer.headers.get('settlement-id'));
        expect(found.headers.get('x-simulated')).toBe('true');
        expect(found.body).toMatchObject({ source: 'simulation', state });
        described('get', '/v2/settlements/{id}', found);
        const query = `transaction=${String(answer.body['transaction'])}`;
        const byHash = await get(`${service.url}/v2/settlements?${query}`);
        expect(byHash.body).toMatchObject({ settlements: [{ source: 'simulation', state }] });
      }
    }
    expect({ keys: await keys(), block: await world.client.getBlockNumber() }).toEqual(before);
  });

  it('that is pending settles some seconds later, once; look-ups say so, and can wait for it', async () => {
    const body = await payment();
    const first = await settle(body, 'pending');
    expect(first.body).toMatchObject({ errorReason: 'settlement_pending' });
    const id = first.headers.get('settlement-id') ?? '';
    const waited = await get(`${service.url}/v2/settlements/${id}?wait=20`);
    expect(waited.body).toMatchObject({ paid: true, sale: 'open' });
    const answers = await Promise.all([settle(body, 'pending'), settle(body, 'pending')]);
    expect(answers.filter(({ body: { success } }) => success === true)).toHaveLength(1);
    // The same payment is still good: nothing of it was ever used.
    const real = await post(`${service.url}/settle`, body, { 'X-API-Key': tester.key });
    expect(real.body).toMatchObject({ success: true });
    expect(real.headers.get('x-simulated')).toBeNull();
    expect(real.body['transaction']).not.toMatch(HASH);
  });

  it('that meets a reorg is gone some seconds after its success', async () => {
    const answer = await settle(await payment(), 'reorg');
    const id = answer.headers.get('settlement-id');
    expect(answer.body).toMatchObject({ success: true });
    await eventually('gone', async () => (await look(id)).body['paid'] === false);
    expect((await look(id)).body).toMatchObject({ state: 'broadcast', sale: 'sold' });
  });

  it('that is slow answers in the end, and one that times out is cut when the seller gives up', async () => {
    const begun = Date.now();
    expect((await settle(await payment(), 'slow')).body).toMatchObject({ success: true });
    expect(Date.now() - begun).toBeGreaterThan(7000);
    const body = await payment();
    const silent = fetch(`${service.url}/settle`, {
      method: 'POST',
      headers: { 'X-API-Key': tester.key, 'X-Simulate': 'timeout' },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(1000),
    });
    await expect(silent).rejects.toThrow();
    expect((await settle(body, 'timeout')).body).toMatchObject({ success: true });
  });

  it('is forgotten after a while, and kept within a bound', async () => {
    const names = await redis.keys('x402:{simulation}:*');
    expect(names.length).toBeGreaterThan(5);
    for (const name of names) {
      const seconds = await redis.ttl(name);
      expect([name, seconds > 0 && seconds <= 900]).toEqual([name, true]);
    }
    const own = names.find((name) => name.startsWith('x402:{simulation}:of:')) ?? '';
    const now = Math.floor(Date.now() / 1000);
    const many = Array.from({ length: 1000 }, (_, index) => [now, `other-${index}`]).flat();
    await redis.zadd(own, ...many);
    const refused = await settle(await payment(), 'reverted');
    expect(refused.status).toBe(429);
    expect(refused.body['errorMessage']).toMatch(/too many simulated settlements/);
    await redis.del(own);
  });

  it('is never settled for real where it is refused', async () => {
    const payTo = newAccount().address;
    const terms = { chainId: world.chainId, token: world.usd, payTo };
    const refused = async (outcome: string, key?: string): Promise<[number, unknown]> => {
      const headers = { 'X-Simulate': outcome, ...(key !== undefined && { 'X-API-Key': key }) };
      const body = await eip3009Body({ ...terms, payer: await world.payer() });
      const answer = await post(`${service.url}/settle`, body, headers);
      expect(answer.body).toMatchObject({ success: false, transaction: '' });
      described('post', '/settle', answer);
      return [answer.status, answer.body['errorMessage']];
    };
    const before = await keys();
    expect((await refused('pending'))[0]).toBe(401);
    expect(await refused('pending', shop.key)).toEqual([
      403,
      expect.stringMatching(/scope simulate/),
    ]);
    for (const outcome of ['', 'success', 'pending, reverted', 'toString']) {
      expect(await refused(outcome, tester.key)).toEqual([
        400,
        expect.stringMatching(/one of pending, reverted/),
      ]);
    }
    expect(await keys()).toEqual(before);
    expect(await world.balance(world.usd, payTo)).toBe(0n);
  });

  it('is refused where no API keys are in use', async () => {
    const open = await world.service();
    const payTo = newAccount().address;
    const body = await eip3009Body({
      payer: await world.payer(),
      chainId: world.chainId,
      token: world.usd,
      payTo,
    });
    const answer: Answer = await post(`${open.url}/settle`, body, { 'X-Simulate': 'pending' });
    expect([answer.status, answer.body['success']]).toEqual([403, false]);
    expect(await world.balance(world.usd, payTo)).toBe(0n);
    await open.stop();
  });
});

describe('X-Simulate on a main network', () => {
  let world: World;
  beforeAll(async () => {
    world = await World.start({ chainId: 56 });
  });
  afterAll(() => world.stop());

  it('is refused, and settles nothing', async () => {
    const service = await world.service({ API_KEYS_FILE: file });
    const payTo = newAccount().address;
    const terms = { payer: await world.payer(), chainId: 56, token: world.usd, payTo };
    const bodies: readonly [string, Json][] = [
      ['/v2/settle', { ...(await eip3009Body(terms)) }],
      ['/v1/settle', { ...(await v1Body({ ...terms, network: 'bsc' })) }],
    ];
    for (const [path, body] of bodies) {
      const headers = { 'X-API-Key': tester.key, 'X-Simulate': 'reorg' };
      const answer = await post(service.url + path, body, headers);
      expect([answer.status, answer.body['errorReason']]).toEqual([400, 'invalid_network']);
      expect(answer.body['errorMessage']).toMatch(/test networks only/);
    }
    expect(await world.balance(world.usd, payTo)).toBe(0n);
  });
});
