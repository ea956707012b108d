import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { freePort } from '../../sandbox/processes.js';
import { type SandboxRedis, startRedis } from '../../sandbox/redis.js';
import { HubIndex } from '../../src/hub/index/hub-index.js';
import { HubListing } from '../../src/hub/index/hub-listing.js';
import { PriceSeal } from '../../src/hub/index/price-seal.js';
import { sweepOnce } from '../../src/hub/retention/retention-sweep.service.js';
import { MemoryStorage } from '../../src/hub/storage/memory/memory-storage.provider.js';
import { StorageOpening } from '../../src/hub/storage/storage-opening.js';
import type { StoredObject } from '../../src/hub/storage/storage-provider.js';
import { ApiDescription } from '../support/api-description.js';
import { eventually } from '../support/http.js';
import { type Hub, HUB_ADDRESS, type HubAnswer, HubWorld } from '../support/hub-world.js';
import { type Json, newAccount } from '../support/payments.js';
import { strictHeaders } from '../support/strict-signature.js';

const DAY_MS = 86_400_000;
const quiet = (): void => undefined;

describe('how old files may get', () => {
  let server: SandboxRedis;
  let redis: Redis;
  let index: HubIndex;
  let listing: HubListing;
  let storage: MemoryStorage;
  const clock = { now: Date.now() };

  beforeAll(async () => {
    server = await startRedis(await freePort());
    redis = new Redis(server.url);
    storage = new MemoryStorage(HUB_ADDRESS, () => clock.now);
    const logger = { info: quiet, warn: quiet, error: quiet };
    index = new HubIndex(redis, logger, { seal: new PriceSeal('a secret'), versions: 2 });
    await index.start(new StorageOpening(storage, logger));
    listing = new HubListing(index);
  });
  afterAll(async () => {
    await index.stop();
    redis.disconnect();
    await server.stop('SIGKILL');
  });

  const put = (owner: string, id: string): Promise<StoredObject> =>
    storage.put(() => ({ owner, id, bucket: owner, kind: 'memory' }), Buffer.from(id));
  const keep = (owner: string, days: number): Promise<void> =>
    storage.note({ op: 'retention', owner, id: '', days });
  const hub = {
    expire: ({ owner, id, order }: StoredObject): Promise<void> =>
      storage.note({ op: 'remove', owner, id, upTo: order }),
  };
  const sweep = (): Promise<number> => sweepOnce(hub, listing, clock.now);
  const names = async (owner: string): Promise<readonly string[]> =>
    (await listing.files(owner, '', { offset: 0, length: 1000 })).files.map(({ id }) => id).sort();

  it('is as old as their owner has said, and no other owner is asked', async () => {
    await Promise.all(Array.from({ length: 250 }, (_, at) => put('mine', `old_${at}`)));
    await put('mine', 'rewritten');
    await put('mine', 'priced');
    await storage.note({ op: 'price', owner: 'mine', id: 'priced', terms: '{"amount":"1"}' });
    await put('theirs', 'old');
    await keep('mine', 7);
    expect(await sweep()).toBe(0);
    clock.now += 6 * DAY_MS;
    await put('mine', 'rewritten');
    await put('mine', 'young');
    clock.now += 2 * DAY_MS;
    expect(await sweep()).toBe(250);
    expect(await names('mine')).toEqual(['priced', 'rewritten', 'young']);
    expect(await names('theirs')).toEqual(['old']);
    expect(await sweep()).toBe(0);
  });

  it('is for ever again where the owner says so', async () => {
    await put('changed', 'a');
    await keep('changed', 1);
    await keep('changed', 0);
    clock.now += 30 * DAY_MS;
    await keep('mine', 0);
    expect(await sweep()).toBe(0);
    expect(await names('changed')).toEqual(['a']);
  });

  it('takes nothing that was written while it looked', async () => {
    const old = await put('busy', 'a');
    await put('busy', 'a');
    await hub.expire(old);
    expect(await names('busy')).toEqual(['a']);
    expect(await listing.versions({ owner: 'busy', id: 'a' })).toHaveLength(1);
  });
});

describe('PUT /api/retention', () => {
  const me = newAccount();
  const owner = me.address.toLowerCase();
  let world: HubWorld;
  let hub: Hub;

  const signed = async (method: string, body = '', account = me): Promise<HubAnswer> => {
    const headers = await strictHeaders(account, { method, path: '/api/retention', body });
    return hub.ask('/api/retention', { method, headers, ...(body !== '' && { body }) });
  };
  const wanted = (days: unknown, account = me): Promise<HubAnswer> =>
    signed('PUT', JSON.stringify({ days }), account);

  beforeAll(async () => {
    world = await HubWorld.start();
    hub = await world.hub();
    await hub.store(owner, 'a', 'text');
  });
  afterAll(() => world.stop());

  it('is by the signature of its owner, within ten years', async () => {
    expect((await hub.ask('/api/retention', { method: 'PUT', body: '{"days":7}' })).status).toBe(
      401,
    );
    for (const days of [3651, -1, 7.5, 'a week', null, [7]]) {
      expect([days, (await wanted(days)).status]).toEqual([days, 400]);
    }
    expect((await wanted(7, newAccount())).status).toBe(404);
    const description = new ApiDescription((await hub.get('/openapi.json')).json as Json);
    const set = await wanted(30);
    expect([set.status, set.json]).toEqual([200, { Owner: owner, Days: 30 }]);
    expect(description.problemsOf('put', '/api/retention', set.status, set.json)).toEqual([]);
    expect((await signed('GET')).json).toEqual({ Owner: owner, Days: 30 });
  });

  it('lasts when Redis has lost everything', async () => {
    const redis = new Redis(world.redis.url);
    await redis.flushall();
    redis.disconnect();
    await eventually('the index is made anew', async () => (await signed('GET')).status === 200);
    expect((await signed('GET')).json).toEqual({ Owner: owner, Days: 30 });
    expect((await wanted(0)).json).toEqual({ Owner: owner, Days: 0 });
  });
});
