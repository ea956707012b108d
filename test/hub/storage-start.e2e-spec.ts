import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import type { Service } from '../../sandbox/service.js';
import { eventually, get, post } from '../support/http.js';
import { Hub, HubWorld } from '../support/hub-world.js';
import { eip3009Body, newAccount } from '../support/payments.js';
import { S3_KEYS, S3Fixture } from '../support/s3-fixture.js';
import { World } from '../support/world.js';
import { WalletWorld } from '../wallet/wallet-world.js';

const statusOf = async (service: Service, path: string): Promise<number> =>
  (await get(service.opsUrl + path)).status;

const hubDetail = async (service: Service): Promise<unknown> => {
  const { body } = await get(`${service.opsUrl}/health`);
  return (body['details'] as Record<string, unknown>)['hub'];
};

describe('a bucket that is away at the start', () => {
  let fixture: S3Fixture;

  beforeEach(async () => {
    fixture = await S3Fixture.start();
  });
  afterEach(() => fixture.stop());

  it('ROLES=all: payments are settled, the hub says what is wrong and works once the bucket is there', async () => {
    const world = await World.start({ blockTime: 0.3 });
    try {
      await fixture.goAway();
      const folder = mkdtempSync(join(tmpdir(), 'x402-wallet-'));
      const service = await world.service({
        ...WalletWorld.settingsOf(world, folder),
        ROLES: 'all',
        RATE_LIMIT_HUB: '0',
        ...fixture.settings,
      });
      const hub = new Hub(service);
      expect(await hubDetail(service)).toMatchObject({
        status: 'down',
        code: 'storage_unavailable',
      });
      expect(await statusOf(service, '/health')).toBe(503);
      // The process is ready: the hub's storage must not turn payments away.
      expect(await statusOf(service, '/health/ready')).toBe(200);
      expect((await hub.upload({ owner: 'o', id: 'i', message: 'm' })).status).toBe(503);
      const { chainId, usd: token } = world;
      const [payer, payTo] = [await world.payer(), newAccount().address];
      const body = await eip3009Body({ payer, chainId, token, payTo, amount: 1000n });
      await eventually('a payment is settled', async () => {
        const { body: answer } = await post(`${service.url}/settle`, body);
        return answer['success'] === true;
      });

      await fixture.comeBack();
      await eventually('all is up', async () => (await statusOf(service, '/health')) === 200);
      await hub.store('o', 'i', 'stored at last');
      expect((await hub.download('o', 'i')).text).toBe('stored at last');
    } finally {
      await world.stop();
    }
  });

  it('ROLES=hub: is not ready until it is there, and keeps the index meanwhile', async () => {
    const world = await HubWorld.start();
    const redis = new Redis(world.redis.url);
    try {
      const before = await world.hub(fixture.settings);
      await before.store('o', 'kept', 'still here');
      await before.service.stop();
      const index = await redis.hgetall('hub:i:meta');
      expect(index).toMatchObject({ generation: expect.any(String) });
      await fixture.goAway();

      const hub = await world.hub(fixture.settings);
      expect(await statusOf(hub.service, '/health/ready')).toBe(503);
      expect(await statusOf(hub.service, '/health/live')).toBe(200);
      for (const answer of [
        await hub.upload({ owner: 'o', id: 'new', message: 'm' }),
        await hub.download('o', 'kept'),
        await hub.download('o', 'never there'),
        await hub.get('/api/listAccount'),
      ]) {
        expect(answer.status).toBe(503);
        expect(answer.headers.get('retry-after')).not.toBeNull();
      }
      // Longer than the index is left unwatched.
      await new Promise((resolve) => setTimeout(resolve, 1500));
      expect(await redis.hgetall('hub:i:meta')).toEqual(index);

      await fixture.comeBack();
      await eventually(
        'it is ready',
        async () => (await statusOf(hub.service, '/health/ready')) === 200,
      );
      expect((await hub.download('o', 'kept')).text).toBe('still here');
      expect(await redis.hgetall('hub:i:meta')).toEqual(index);
      await hub.store('o', 'new', 'and more');
      expect(hub.service.log()).toContain('the hub storage is not open yet');
      await hub.service.stop();
      expect(hub.service.child.exitCode).toBe(0);
    } finally {
      redis.disconnect();
      await world.stop();
    }
  });

  it('ends on SIGTERM with 0 while it is still away', async () => {
    const world = await HubWorld.start();
    try {
      await fixture.goAway();
      const { service } = await world.hub(fixture.settings);
      await service.stop();
      expect(service.child.exitCode).toBe(0);
    } finally {
      await world.stop();
    }
  });

  it('stores nothing when it turns out to ignore conditions, and says so in the log', async () => {
    const world = await HubWorld.start();
    try {
      await fixture.goAway();
      const hub = await world.hub(fixture.settings);
      fixture.ignoresConditions = true;
      await fixture.comeBack();
      await eventually('the log names the setting', () =>
        hub.service.log().includes('HUB_S3_ENDPOINT: '),
      );
      expect((await hub.upload({ owner: 'o', id: 'i', message: 'm' })).status).toBe(503);
      expect(await statusOf(hub.service, '/health/ready')).toBe(503);
      expect([...fixture.objects.keys()].filter((key) => !key.includes('/probe/'))).toEqual([]);
    } finally {
      await world.stop();
    }
  });
});

describe('a bucket that can never be used as it is set', () => {
  let fixture: S3Fixture;
  let world: HubWorld;

  beforeEach(async () => {
    [fixture, world] = [await S3Fixture.start(), await HubWorld.start()];
  });
  afterEach(async () => {
    await world.stop();
    await fixture.stop();
  });

  const refusal = async (more: Readonly<Record<string, string>> = {}): Promise<string> => {
    const error: unknown = await world.hub({ ...fixture.settings, ...more }).then(
      () => undefined,
      (reason: unknown) => reason,
    );
    if (!(error instanceof Error)) throw new Error('the hub has started');
    expect(error.message).toMatch(/ended with 1\n/);
    // A line for the operator: no stack, nothing of what the service said, no key.
    expect(error.message).not.toMatch(/\n {4}at |NoSuchBucket|DoesNotMatch/);
    expect(error.message).not.toContain(S3_KEYS.secretAccessKey);
    return error.message;
  };

  it('a service that ignores If-None-Match is refused, and left without a trace', async () => {
    fixture.ignoresConditions = true;
    expect(await refusal()).toMatch(/^HUB_S3_ENDPOINT: .*If-None-Match/m);
    expect([...fixture.objects.keys()]).toEqual([]);
  });

  it('a service that honours it keeps nothing of the question', async () => {
    await world.hub(fixture.settings);
    expect([...fixture.objects.keys()]).toEqual(['a-hub/store-id']);
  });

  it('a bucket that is not there is named', async () => {
    expect(await refusal({ HUB_S3_BUCKET: 'another' })).toMatch(/^HUB_S3_BUCKET: /m);
  });

  it.each([
    ['secret', { HUB_S3_SECRET_ACCESS_KEY: 'a wrong one' }],
    ['id', { HUB_S3_ACCESS_KEY_ID: 'a-wrong-one' }],
  ])('a wrong %s names both settings of the keys', async (_, wrong) => {
    expect(await refusal(wrong)).toMatch(/^HUB_S3_ACCESS_KEY_ID, HUB_S3_SECRET_ACCESS_KEY: /m);
  });
});
