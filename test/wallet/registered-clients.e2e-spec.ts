import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { freePort } from '../../sandbox/processes.js';
import { type SandboxRedis, startRedis } from '../../sandbox/redis.js';
import { Secret } from '../../src/platform/config/secret.js';
import { RegisteredClients } from '../../src/wallet/oauth/registered-clients.js';
import { RecordSeal } from '../../src/wallet/seal/record-seal.js';
import { oauthClientKey, tagOf } from '../../src/wallet/wallet-keys.js';

const ALL_MAX = 10_000;
const NETWORK_MAX = 100;
const OPEN_SECONDS = 600;
const OWNER_MAX = 50;
const NETWORK_KEPT_MAX = 10_000;
const DAY_SECONDS = 86_400;

describe('clients that registered themselves', () => {
  let server: SandboxRedis;
  let redis: Redis;
  let now: number;

  const process = (): RegisteredClients => {
    const current = new Secret('a'.repeat(32));
    const seal = new RecordSeal({ sealSecret: { current, previous: undefined } });
    return new RegisteredClients(redis, seal, () => now);
  };
  const add = (id: string, network: string, clients = process()) =>
    clients.add(id, { client_name: id }, network);
  const keep = (id: string, owner = 'owner', inUse: readonly string[] = []) =>
    process().keep(id, owner, inUse);
  const isKnown = async (id: string): Promise<boolean> => (await process().find(id)) !== undefined;
  /** So many of each of so many networks, one network after the other. */
  const fill = async (networks: number, each: number): Promise<string[]> => {
    const ids: string[] = [];
    for (let network = 0; network < networks; network += 1) {
      const own = Array.from({ length: each }, (_, at) => `${network}-${at}`);
      await Promise.all(own.map((id) => add(id, `network-${network}`)));
      ids.push(...own);
    }
    return ids;
  };

  beforeAll(async () => {
    server = await startRedis(await freePort());
    redis = new Redis(server.url);
  });
  beforeEach(async () => {
    now = 1_800_000_000;
    await redis.flushall();
  });
  afterAll(async () => {
    redis.disconnect();
    await server.stop();
  });

  it('are not forgotten while their owners are asked, whoever else registers', async () => {
    await add('mine', 'home');
    now += 30;
    await process().need('mine', OPEN_SECONDS);
    now += 300;
    await fill(ALL_MAX / NETWORK_MAX, NETWORK_MAX);
    expect(await isKnown('mine')).toBe(true);
    now += OPEN_SECONDS;
    await keep('mine');
    await fill(ALL_MAX / NETWORK_MAX, NETWORK_MAX);
    expect(await isKnown('mine')).toBe(true);
  });

  it('of one network take the places of its oldest', async () => {
    await add('elsewhere', 'another');
    await fill(1, NETWORK_MAX);
    now += 61;
    expect(await add('one more', 'network-0')).toBe('added');
    expect(await Promise.all(['elsewhere', 'one more'].map(isKnown))).toEqual([true, true]);
    expect(await redis.zcard('x402:wl:own:network-0')).toBe(NETWORK_MAX);
    expect(await redis.zcard('x402:wl:ow')).toBe(NETWORK_MAX + 1);
    expect(await redis.keys('x402:wl:oc:*')).toHaveLength(NETWORK_MAX + 1);
  });

  it('are refused to a network of which all are needed, and to no other', async () => {
    const ids = await fill(1, NETWORK_MAX);
    now += 61;
    await Promise.all(ids.map((id) => process().need(id, OPEN_SECONDS)));
    expect(await add('one more', 'network-0')).toBe('network_full');
    expect(await isKnown('one more')).toBe(false);
    expect(await add('one more', 'another')).toBe('added');
    await keep(ids[0] ?? '');
    expect(await add('late', 'network-0')).toBe('added');
  });

  it('are refused where all are needed, and there is room again when they are not', async () => {
    await fill(ALL_MAX / NETWORK_MAX, NETWORK_MAX);
    expect(await add('one more', 'another')).toBe('full');
    now += 61;
    expect(await add('one more', 'another')).toBe('added');
    expect(await redis.zcard('x402:wl:ow')).toBe(ALL_MAX);
    const ofNetworks = await redis.keys('x402:wl:own:*');
    const counts = await Promise.all(ofNetworks.map((key) => redis.zcard(key)));
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(ALL_MAX);
  });

  it('are no more than the bound when two processes add them at once', async () => {
    const both = [process(), process()];
    const all = Array.from({ length: 3 * NETWORK_MAX }, (_, at) =>
      add(`one ${at}`, 'home', both[at % 2]),
    );
    const added = (await Promise.all(all)).filter((one) => one === 'added');
    expect(added).toHaveLength(NETWORK_MAX);
  });

  it('are forgotten after a day without an owner', async () => {
    await add('idle', 'home');
    await add('kept', 'home');
    await keep('kept');
    now += DAY_SECONDS + 61;
    await add('new', 'home');
    expect(await redis.zcard('x402:wl:ow')).toBe(1);
    expect(await redis.ttl(oauthClientKey(tagOf('idle')))).toBeLessThanOrEqual(DAY_SECONDS + 60);
    expect(await redis.ttl(oauthClientKey(tagOf('kept')))).toBeGreaterThan(179 * DAY_SECONDS);
  });

  describe('that an owner let in', () => {
    /** As an owner lets so many in, one after the other. */
    const letIn = async (count: number, owner: string, network = 'home'): Promise<string[]> => {
      const ids = Array.from({ length: count }, (_, at) => `${owner} ${at}`);
      for (const id of ids) {
        now += 1;
        await add(id, network);
        await keep(id, owner);
      }
      return ids;
    };

    it('are so many, and the oldest goes for the next', async () => {
      const ids = await letIn(OWNER_MAX + 3, 'owner');
      expect(await Promise.all(ids.slice(0, 4).map(isKnown))).toEqual([false, false, false, true]);
      expect(await redis.keys('x402:wl:oc:*')).toHaveLength(OWNER_MAX);
      expect(await redis.zcard('x402:wl:ok:owner')).toBe(OWNER_MAX);
      expect(await redis.keys('x402:wl:oo:*')).toHaveLength(OWNER_MAX);
      expect(await redis.zcard('x402:wl:okn:home')).toBe(OWNER_MAX);
    });

    it('stay while others go that have no grant', async () => {
      const [first = '', second = '', third = ''] = await letIn(OWNER_MAX, 'owner');
      // Let in again it is not the oldest any more.
      now += 1;
      await keep(second, 'owner');
      await add('next', 'home');
      now += 1;
      await keep('next', 'owner', [first, 'next']);
      expect(await Promise.all([first, second, third, 'next'].map(isKnown))).toEqual([
        true,
        true,
        false,
        true,
      ]);
    });

    it('stay for another owner who let them in, too', async () => {
      await add('shared', 'home');
      await keep('shared', 'owner');
      await keep('shared', 'other');
      await keep('shared', 'other');
      await letIn(OWNER_MAX, 'owner');
      expect(await isKnown('shared')).toBe(true);
      await letIn(OWNER_MAX, 'other');
      expect(await isKnown('shared')).toBe(false);
    });

    it('of one network are so many, whoever lets them in', async () => {
      await add('oldest', 'home');
      await keep('oldest', 'first');
      await add('elsewhere', 'another');
      await keep('elsewhere', 'first');
      await redis.zadd(
        'x402:wl:okn:home',
        ...Array.from({ length: NETWORK_KEPT_MAX - 1 }, (_, at) => [now + 1, `tag ${at}`]).flat(),
      );
      now += 2;
      await add('newest', 'home');
      await keep('newest', 'second');
      expect(await Promise.all(['oldest', 'elsewhere', 'newest'].map(isKnown))).toEqual([
        false,
        true,
        true,
      ]);
      expect(await redis.zcard('x402:wl:okn:home')).toBe(NETWORK_KEPT_MAX);
    });

    it('and that are not known, or are named by a document, leave nothing behind', async () => {
      await keep('https://app.example/client.json');
      expect(await redis.dbsize()).toBe(0);
    });

    it('leave nothing behind for good', async () => {
      await letIn(2, 'owner');
      const keys = await redis.keys('*');
      const lives = await Promise.all(keys.map((key) => redis.ttl(key)));
      expect(keys).toHaveLength(6);
      for (const life of lives) expect(life).toBeGreaterThan(0);
    });
  });
});
