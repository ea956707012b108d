import { randomBytes } from 'node:crypto';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { freePort } from '../../sandbox/processes.js';
import { type SandboxRedis, startRedis } from '../../sandbox/redis.js';
import { Compaction } from '../../src/hub/compaction/compaction.js';
import { HubIndex } from '../../src/hub/index/hub-index.js';
import { objectOf } from '../../src/hub/index/index-entry.js';
import { objectsKey, pricesKey, usageKey, versionsKey } from '../../src/hub/index/keys.js';
import { PriceSeal } from '../../src/hub/index/price-seal.js';
import { MemoryStorage } from '../../src/hub/storage/memory/memory-storage.provider.js';
import { StorageOpening } from '../../src/hub/storage/storage-opening.js';
import type { StoredObject } from '../../src/hub/storage/storage-provider.js';
import { eventually } from '../support/http.js';
import { type Hub, HUB_ADDRESS, HubWorld } from '../support/hub-world.js';
import { newAccount } from '../support/payments.js';
import { TEST_SEED } from '../support/seed.js';
import { SeededRandom } from '../support/seeded-random.js';
import { strictHeaders } from '../support/strict-signature.js';

const MIB = 1_048_576;
const HOUR_MS = 3_600_000;
const ROUNDS = [0, 1, 2].flatMap((versions) =>
  [1, 2, 3, 4].map((drawn) => [versions, drawn] as const),
);
const quiet = (): void => undefined;

/** On the disk, not by length. */
function diskBytes(dir: string): number {
  return readdirSync(dir, { recursive: true, encoding: 'utf8' })
    .map((name) => statSync(join(dir, name)))
    .filter((stat) => stat.isFile())
    .reduce((sum, { blocks }) => sum + blocks * 512, 0);
}

describe('what compaction may free', () => {
  let server: SandboxRedis;
  let redis: Redis;
  const indexes: HubIndex[] = [];

  beforeAll(async () => {
    server = await startRedis(await freePort());
    redis = new Redis(server.url);
  });
  afterEach(async () => {
    await Promise.all(indexes.splice(0).map((index) => index.stop()));
  });
  afterAll(async () => {
    redis.disconnect();
    await server.stop('SIGKILL');
  });

  it.each(ROUNDS)(
    'is nothing that the index leads to, with %d versions, drawn %d',
    async (versions, drawn) => {
      await redis.flushall();
      const random = new SeededRandom(TEST_SEED + 10 * versions + drawn);
      const clock = { now: 1_000_000_000_000 };
      const storage = new MemoryStorage(HUB_ADDRESS, () => clock.now);
      const logger = { info: quiet, warn: quiet, error: quiet };
      const rules = { seal: new PriceSeal('a secret'), versions };
      const index = new HubIndex(redis, logger, rules);
      indexes.push(index);
      await index.start(new StorageOpening(storage, logger));
      // It objects to nothing: what the journal says has to be right alone.
      const compaction = new Compaction(storage, {
        found: () => Promise.resolve(new Set()),
        kept: quiet,
      });
      const all: StoredObject[] = [];
      const names = ['a', 'b', 'c', 'd'];
      const turn = () =>
        compaction.turn({
          versions,
          now: clock.now * 1000,
          grace: HOUR_MS * 1000,
          soldGrace: 5 * HOUR_MS * 1000,
        });
      const reachable = async (): Promise<readonly StoredObject[]> => {
        const rows = await Promise.all(
          names.map(async (id) => [
            await redis.hget(objectsKey('o'), id),
            ...(await redis.zrange(versionsKey('o', id), '0', '-1')),
          ]),
        );
        return rows.flat().flatMap((row) => (row === null ? [] : [objectOf(row)]));
      };
      const newestOf = async (id: string): Promise<StoredObject | undefined> => {
        const row = await redis.hget(objectsKey('o'), id);
        return row === null ? undefined : objectOf(row);
      };
      const sold = async (): Promise<readonly StoredObject[]> => {
        const rows = await Promise.all(names.map((id) => redis.hget(pricesKey('o'), id)));
        return names.flatMap((id, at) => {
          const object = forSale.get(id);
          return object === undefined || (rows[at] ?? '|').endsWith('|') ? [] : [object];
        });
      };
      const isThere = async (object: StoredObject): Promise<boolean> => {
        for await (const piece of storage.read(object, 0, 1)) return piece.length === 1;
        return false;
      };
      const orders = (objects: readonly StoredObject[]): number[] =>
        objects.map(({ order }) => order).sort((a, b) => a - b);
      const usage = async (): Promise<unknown> => redis.hgetall(usageKey('o'));
      /** What the last price of a name was set on. */
      const forSale = new Map<string, StoredObject | undefined>();
      const act = async (): Promise<void> => {
        const id = random.pick(names);
        const before = all.filter((object) => object.id === id);
        switch (
          random.pick(['put', 'put', 'remove', 'expire', 'price', 'unprice', 'wait', 'wait'])
        ) {
          case 'put': {
            const bytes = Buffer.from(`${id} ${all.length}`);
            const name = { owner: 'o', id, bucket: 'b', kind: 'memory' };
            all.push(await storage.put(() => name, bytes));
            return;
          }
          case 'remove':
            return storage.note({ op: 'remove', owner: 'o', id });
          case 'expire':
            if (before.length === 0) return;
            return storage.note({ op: 'remove', owner: 'o', id, upTo: random.pick(before).order });
          case 'price':
            forSale.set(id, await newestOf(id));
            return storage.note({ op: 'price', owner: 'o', id, terms: '{"amount":"1"}' });
          case 'unprice':
            return storage.note({ op: 'price', owner: 'o', id, terms: '' });
          case 'wait': {
            clock.now += random.below(4 * HOUR_MS);
            const found = await reachable();
            await turn();
            expect(orders(await reachable())).toEqual(orders(found));
          }
        }
      };
      for (let step = 0; step < 400; step += 1) {
        clock.now += 1000;
        await act();
        if (step % 10 > 0) continue;
        for (const object of await reachable()) expect(await isThere(object)).toBe(true);
      }
      // In the end nothing is left but what can be found; twice, for versions are given up first.
      for (let end = 0; end < 2; end += 1) {
        clock.now += 10 * HOUR_MS;
        while (!(await turn()).isRound);
      }
      const living = await reachable();
      const lying: StoredObject[] = [];
      for (const object of all) if (await isThere(object)) lying.push(object);
      expect(orders(lying)).toEqual(expect.arrayContaining(orders(living)));
      // What a removal for age has spared once, for its price, is in doubt and stays.
      expect(all.length - lying.length).toBeGreaterThan(all.length / 3);
      const counted = await usage();
      expect(counted).toEqual({
        bytes: String(lying.reduce((sum, { size }) => sum + size, 0)),
        count: String(lying.length),
      });
      // A rebuilt index leads to the same, and counts the same; also with more versions.
      await redis.flushall();
      await eventually('the index is made anew', async () => {
        await index.check().catch(quiet);
        return (await redis.exists('hub:i:meta')) === 1;
      });
      expect(orders(await reachable())).toEqual(orders(living));
      expect(await usage()).toEqual(counted);
      await index.stop();
      await redis.flushall();
      const more = new HubIndex(redis, logger, { ...rules, versions: versions + 50 });
      indexes.push(more);
      await more.start(new StorageOpening(storage, logger));
      const needed = [...(await reachable()), ...(await sold())];
      for (const object of needed) expect(await isThere(object)).toBe(true);
    },
  );
});

describe('a hub that gives freed space back', () => {
  const me = newAccount();
  let world: HubWorld;
  let hub: Hub;
  const living = new Map<string, string>();
  const settings = {
    HUB_MODE: 'private',
    HUB_AUTH: 'strict',
    HUB_PRIVATE_READS: 'public',
    HUB_COMPACT_AFTER_SECONDS: '1',
    HUB_QUOTA_BYTES: String(40 * MIB),
    HUB_MAX_JSON_BYTES: String(8 * MIB),
  };

  const store = async (name: string, size: number): Promise<number> => {
    const message = randomBytes(size).toString('hex').slice(0, size);
    const path = '/api/upload';
    const body = JSON.stringify({ owner: me.address, id: name, message });
    const headers = await strictHeaders(me, { method: 'POST', path, body });
    const { status } = await hub.ask(path, { method: 'POST', headers, body });
    if (status === 200) living.set(name, message);
    return status;
  };
  const remove = async (name: string): Promise<void> => {
    const path = `/api/object?name=${name}`;
    const headers = await strictHeaders(me, { method: 'DELETE', path, body: '' });
    expect((await hub.ask(path, { method: 'DELETE', headers })).status).toBe(200);
    living.delete(name);
  };
  const expectLiving = async (of = hub): Promise<void> => {
    for (const [name, text] of living) {
      const answer = await of.download(me.address, name);
      expect([name, answer.status, answer.text === text]).toEqual([name, 200, true]);
    }
  };
  const volumes = (): string => join(world.dir, 'volumes');
  const livingBytes = (): number =>
    [...living.values()].reduce((sum, text) => sum + text.length, 0);

  beforeAll(async () => {
    world = await HubWorld.start();
    hub = await world.hub(settings);
  });
  afterAll(() => world.stop());

  it('frees what was given up and what was written over, and no byte beside it', async () => {
    // Odd sizes: ends of files lie within blocks of the file system.
    for (let at = 0; at < 6; at += 1) {
      expect(await store(`long_${at}`, 3 * MIB + 4097 + at)).toBe(200);
      expect(await store(`short_${at}`, 5000 + at)).toBe(200);
    }
    expect(diskBytes(volumes())).toBeGreaterThan(18 * MIB);
    for (const at of [0, 2, 4]) await remove(`long_${at}`);
    expect(await store('short_1', 7777)).toBe(200);
    expect(await store('long_1', 3 * MIB)).toBe(200);
    await eventually('the space is free', () => {
      return Promise.resolve(diskBytes(volumes()) < livingBytes() + MIB);
    });
    await expectLiving();
  });

  it('is no longer counted on the quota', async () => {
    const names: string[] = [];
    let status = 200;
    while (status === 200) {
      names.push(`fill_${names.length}`);
      status = await store(names.at(-1) ?? '', 5 * MIB);
    }
    expect(status).toBe(403);
    for (const name of names.slice(0, -1)) await remove(name);
    await eventually('the quota has room', async () => (await store('again', 5 * MIB)) === 200);
    await expectLiving();
  });

  it('is killed again and again, and ends with the living alone', async () => {
    // Removed files count until they are freed, and a slow process may be killed before that each time.
    const roomy = { ...settings, HUB_QUOTA_BYTES: String(200 * MIB) };
    await hub.service.stop();
    hub = await world.hub(roomy);
    for (let kill = 0; kill < 6; kill += 1) {
      expect(await store(`victim_${kill}`, 4 * MIB)).toBe(200);
      expect(await store('rewritten', 2 * MIB + kill)).toBe(200);
      await remove(`victim_${kill}`);
      // A turn comes every second: some kills hit one.
      await new Promise((resolve) => setTimeout(resolve, 700 + 260 * kill));
      await hub.service.stop('SIGKILL');
      hub = await world.hub(roomy);
      await eventually('it serves again', async () => {
        const answer = await hub.download(me.address, 'rewritten');
        return answer.status === 200;
      });
    }
    await expectLiving();
    await eventually('the space is free', () =>
      Promise.resolve(diskBytes(volumes()) < livingBytes() + MIB),
    );
    const redis = new Redis(world.redis.url);
    const usage = (): Promise<string | null> =>
      redis.hget(usageKey(me.address.toLowerCase()), 'bytes');
    await eventually('only the living count', async () => Number(await usage()) === livingBytes());
    await redis.flushall();
    await eventually('the index is made anew', async () => {
      return (await hub.download(me.address, 'rewritten')).status === 200;
    });
    expect(Number(await usage())).toBe(livingBytes());
    redis.disconnect();
    await expectLiving();
  });

  it('keeps what the index leads to though the journal has given it up, and says so', async () => {
    const redis = new Redis(world.redis.url);
    const [rows, name] = [objectsKey(me.address.toLowerCase()), 'written_behind'];
    expect(await store(name, 3 * MIB)).toBe(200);
    const row = (await redis.hget(rows, name)) ?? '';
    expect(row).toContain('|{');
    const text = living.get(name) ?? '';
    await remove(name);
    // As a process does whose clock is behind that of the one that removed it.
    await redis.hset(rows, name, row);
    living.set(name, text);
    await eventually('it says so', () =>
      Promise.resolve(hub.service.log().includes('are still referenced; the hub keeps the bytes')),
    );
    await expectLiving();
    await redis.hdel(rows, name);
    redis.disconnect();
    living.delete(name);
    await eventually('the space is free', () =>
      Promise.resolve(diskBytes(volumes()) < livingBytes() + MIB),
    );
  });

  it('goes on in the next process, while another one reads', async () => {
    const reader = await world.hub(settings);
    expect(await store('shared', 3 * MIB)).toBe(200);
    expect(await store('shared', 3 * MIB + 1)).toBe(200);
    await eventually('the space is free', () =>
      Promise.resolve(diskBytes(volumes()) < livingBytes() + MIB),
    );
    await expectLiving(reader);
    await hub.service.stop('SIGTERM');
    hub = reader;
    await remove('shared');
    await eventually('the space is free', () =>
      Promise.resolve(diskBytes(volumes()) < livingBytes() + MIB),
    );
    await expectLiving();
  });
});
