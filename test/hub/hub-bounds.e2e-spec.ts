import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { freePort } from '../../sandbox/processes.js';
import { startRedis } from '../../sandbox/redis.js';
import { eventually } from '../support/http.js';
import { type Hub, HubWorld } from '../support/hub-world.js';
import { newAccount } from '../support/payments.js';
import { strictHeaders } from '../support/strict-signature.js';

/** What an upload may take of Redis, whatever it calls itself; see `docs/hub.md`. */
const INDEX_MAX_BYTES = 4096;
const UPLOADS = 200;
const BALLAST_BYTES = 32 * 2 ** 20;

async function usedMemory(redis: Redis): Promise<number> {
  return Number(/used_memory:(\d+)/.exec(await redis.info('memory'))?.[1]);
}

describe('what strangers can take of a hub', () => {
  let world: HubWorld;
  let hub: Hub;
  let redis: Redis;

  beforeAll(async () => {
    world = await HubWorld.start();
    hub = await world.hub();
    redis = new Redis(world.redis.url);
  });
  afterAll(async () => {
    redis.disconnect();
    await world.stop();
  });

  it.each([
    // The longest ids and the other names are refused where they are too long; these are not.
    ['as long as they may be', 'é', 128, 256],
    ['of control characters', '\u0001', 42, 85],
    ['of quotes', '"', 128, 256],
  ])('anonymous uploads whose names are %s', async (_what, letter, short, long) => {
    const name = (kind: string, number: number, length: number): string =>
      `${kind}${number}`.padEnd(length - 2, letter).slice(0, length - 2);
    const upload = async (number: number): Promise<void> => {
      const answer = await hub.upload({
        owner: name(`o${letter}`, number, short),
        bucket: name('b', number, short),
        id: `${name('i', number, long)}_1`,
        message: 'm',
      });
      expect([answer.status, answer.text]).toEqual([200, expect.anything()]);
    };
    await upload(-1);
    const before = await usedMemory(redis);
    for (let at = 0; at < UPLOADS; at += 20) {
      await Promise.all(Array.from({ length: 20 }, (_, index) => upload(at + index)));
    }
    const each = ((await usedMemory(redis)) - before) / UPLOADS;
    console.log(`${each.toFixed(0)} bytes of Redis an upload`);
    expect(each).toBeLessThan(INDEX_MAX_BYTES);
    const [row] = (await hub.get('/api/listNeedle?length=1')).json as { Owner: string }[];
    expect(row?.Owner.startsWith(`o${letter}`)).toBe(true);
  });

  it('names beyond the bound are refused, and no key holds one', async () => {
    for (const change of [
      { owner: 'x'.repeat(257) },
      { bucket: 'x'.repeat(257) },
      { id: 'x'.repeat(513) },
      { kind: 'x'.repeat(65) },
      { id: '\u0001'.repeat(100) },
    ]) {
      const answer = await hub.upload({ owner: 'o', id: 'i', message: 'm', ...change });
      expect(answer.status).toBe(400);
    }
    const keys = await redis.keys('hub:*');
    expect(Math.max(...keys.map((key) => key.length))).toBeLessThan(110);
  });

  it('a message that names itself at length lies in the bucket of its owner', async () => {
    const message = JSON.stringify({ name: 'x'.repeat(1000) });
    expect((await hub.upload({ owner: 'talker', id: 'i', message })).status).toBe(200);
    expect((await hub.get('/api/listBucket?owner=talker')).json).toMatchObject([
      { Name: 'talker' },
    ]);
  });

  it('long names are found, listed and read under themselves', async () => {
    const [owner, bucket, talk] = ['O'.repeat(200), 'B'.repeat(200), 'C'.repeat(300)];
    for (const number of [0, 1]) {
      const fields = { owner, bucket, id: `${talk}_${number}`, message: `text ${number}` };
      expect((await hub.upload(fields)).status).toBe(200);
    }
    const query = `owner=${owner}`;
    expect((await hub.download(owner, `${talk}_1`)).text).toBe('text 1');
    expect((await hub.get(`/api/download?name=${talk}_0`)).text).toBe('text 0');
    expect((await hub.get(`/api/conversation?${query}`)).json).toEqual([talk]);
    expect((await hub.get(`/api/conversation?${query}&name=${talk}`)).json).toEqual([
      'text 0',
      'text 1',
    ]);
    expect((await hub.get(`/api/listBucket?${query}`)).json).toMatchObject([{ Name: bucket }]);
    expect((await hub.get(`/api/listConversation?${query}`)).json).toMatchObject([
      { Name: talk, Count: 2 },
    ]);
    expect((await hub.get(`/api/listNeedle?${query}&bucket=${bucket}`)).json).toHaveLength(2);
    expect((await hub.get('/api/listAccount?length=1')).json).toMatchObject([{ Name: owner }]);
    expect((await hub.get(`/api/listAccount?${query}`)).json).toMatchObject([{ Name: owner }]);
  });

  it('a hub keeps as many payloads as it is told to, and those that are there can be replaced', async () => {
    const small = await HubWorld.start();
    const full = await small.hub({ HUB_MAX_OBJECTS: '2' });
    await full.store('a', '1', 'x');
    await full.store('b', '2', 'x');
    const refused = await full.upload({ owner: 'c', id: '3', message: 'x' });
    expect([refused.status, refused.text]).toEqual([403, expect.stringContaining('is full')]);
    expect((await full.sendFile('c', '4', Buffer.from('x'))).status).toBe(403);
    await full.store('b', '2', 'y');
    expect((await full.download('b', '2')).text).toBe('y');
    await small.stop();
  });

  it('a Redis that is nearly full takes no further uploads, and serves what is there', async () => {
    const small = await HubWorld.start();
    const full = await small.hub();
    await full.store('a', '1', 'x');
    const keeper = newAccount();
    await full.store(keeper.address, '1', 'x');
    const client = new Redis(small.redis.url);
    // It is full by another's doing; the ledger's, say.
    await client.set('ballast', Buffer.alloc(BALLAST_BYTES));
    // Until it is on the disk, Redis holds the command a second time; the share would fall again after it.
    await eventually('the command is given back', async () => {
      return (await usedMemory(client)) < 1.5 * BALLAST_BYTES;
    });
    await client.config('SET', 'maxmemory', String(Math.floor((await usedMemory(client)) * 1.2)));
    const again = await small.hub();
    const refused = await again.upload({ owner: 'c', id: '3', message: 'x' });
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, expect.anything()]);
    expect((await again.download('a', '1')).text).toBe('x');
    // Each signature leaves its nonce, and anybody can make keys.
    const path = '/api/retention';
    const look = async (account = newAccount()): Promise<number> => {
      const headers = await strictHeaders(account, { method: 'GET', path });
      return (await again.get(path, headers)).status;
    };
    expect(await look()).toBe(503);
    expect(await client.keys('hub:nonce:*')).toEqual([]);
    expect(await look(keeper)).toBe(200);
    // A file costs little, so they have a share of their own.
    await client.config('SET', 'maxmemory', String(Math.floor((await usedMemory(client)) * 1.03)));
    await eventually('the share of owners is used up', async () => (await look(keeper)) === 503);
    expect((await again.download('a', '1')).text).toBe('x');
    client.disconnect();
    await small.stop();
  });

  it('a hub with a Redis of its own needs no other, and leaves nothing in it', async () => {
    const own = await startRedis(await freePort());
    const apart = await HubWorld.start();
    const [ledger, hubs] = [new Redis(apart.redis.url), new Redis(own.url)];
    const shared = await apart.hub({ HUB_REDIS_URL: own.url });
    await shared.store('a', '1', 'x');
    expect(await ledger.keys('hub:*')).toEqual([]);
    expect(await hubs.keys('hub:i:*')).not.toEqual([]);
    const { json } = await shared.get('/health');
    expect(json).toMatchObject({ details: { hub_redis: { status: 'up' } } });
    await shared.service.stop();
    const alone = await apart.hub({ REDIS_URL: '', HUB_REDIS_URL: own.url });
    expect((await alone.download('a', '1')).text).toBe('x');
    expect((await alone.get('/health')).status).toBe(200);
    for (const client of [ledger, hubs]) client.disconnect();
    await apart.stop();
    await own.stop('SIGKILL');
  });
});
