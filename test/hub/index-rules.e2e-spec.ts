import { createHash } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { freePort } from '../../sandbox/processes.js';
import { type SandboxRedis, startRedis } from '../../sandbox/redis.js';
import { IndexUnavailableError } from '../../src/hub/errors.js';
import { HubIndex } from '../../src/hub/index/hub-index.js';
import { HubListing } from '../../src/hub/index/hub-listing.js';
import { PriceSeal } from '../../src/hub/index/price-seal.js';
import { StorageOpening } from '../../src/hub/storage/storage-opening.js';
import type {
  JournalEntry,
  StorageObserver,
  StorageProvider,
  StoredObject,
} from '../../src/hub/storage/storage-provider.js';
import { eventually } from '../support/http.js';

const quiet = (): void => undefined;
const SECRET = 'a secret';

const put = (order: number, id: string): StoredObject => ({
  op: 'put',
  order,
  owner: 'o',
  id,
  bucket: 'b',
  kind: 'memory',
  volume: 0,
  start: order * 31,
  size: 1,
  sha256: 'ab',
  blocks: '',
});
const price = (order: number, id: string, terms = '{"amount":"1"}'): JournalEntry => ({
  op: 'price',
  order,
  owner: 'o',
  id,
  terms,
});
const forAge = (order: number, id: string, upTo: number): JournalEntry => ({
  op: 'remove',
  order,
  owner: 'o',
  id,
  upTo,
});

/** A journal that several processes write, each with its own index before the same Redis. */
class SharedJournal {
  readonly entries: JournalEntry[] = [];
  readonly #indexes: HubIndex[] = [];

  constructor(private readonly redis: Redis) {}

  async process(versions: number, secret = SECRET): Promise<{ index: HubIndex; said: string[] }> {
    const said: string[] = [];
    const logger = {
      warn: quiet,
      error: quiet,
      info: (facts: unknown) => said.push((facts as { readonly how: string }).how),
    };
    const { entries } = this;
    const storage = {
      start: (observer: StorageObserver) => observer.opened(undefined),
      stop: () => Promise.resolve(),
      storeId: 'shared',
      isWriter: true,
      orderSlack: 1,
      async *entries(after: number) {
        yield* await Promise.resolve(entries.filter(({ order }) => order > after));
      },
    } as unknown as StorageProvider;
    const index = new HubIndex(this.redis, logger, { seal: new PriceSeal(secret), versions });
    this.#indexes.push(index);
    // The start waits a while for an index that is not there: what is asked is what comes then.
    await index.start(new StorageOpening(storage, { info: quiet, error: quiet }));
    return { index, said };
  }

  async stop(): Promise<void> {
    await Promise.all(this.#indexes.map((index) => index.stop()));
  }
}

describe('an index that several processes make', () => {
  let server: SandboxRedis;
  let redis: Redis;
  let journal: SharedJournal;

  beforeAll(async () => {
    server = await startRedis(await freePort());
    redis = new Redis(server.url);
  });
  afterAll(async () => {
    redis.disconnect();
    await server.stop('SIGKILL');
  });
  beforeEach(async () => {
    await redis.flushall();
    journal = new SharedJournal(redis);
  });

  it('takes off the quota each of the payloads that two writers gave the same order', async () => {
    const payloads = ['a', 'b', 'b'].map((id, volume) => ({ ...put(1, id), volume }));
    journal.entries.push(...payloads);
    for (const [at, id] of ['a', 'b'].entries()) {
      const freed = payloads.filter((one) => one.id === id);
      journal.entries.push(
        { op: 'remove', order: 2 + at, owner: 'o', id },
        { op: 'freed', order: 4 + at, owner: 'o', id, payloads: freed },
      );
    }
    await journal.process(0);
    const counted = await redis.hgetall('hub:i:u:o');
    await journal.stop();
    expect(counted).toEqual({ bytes: '0', count: '0' });
  });

  /** As if the index had been made an hour ago. */
  const age = async (): Promise<void> => {
    const since = Math.floor(Date.now() / 1000) - 3600;
    await redis.hset('hub:i:meta', 'since', String(since));
  };

  it.each([
    ['keep another number of versions', 2, SECRET],
    ['mark prices by another secret', 0, 'another secret'],
  ])('is made once by those that %s, and not in turns', async (_what, versions, secret) => {
    journal.entries.push(put(1, 'a'), price(2, 'a'));
    const old = await journal.process(0);
    expect((await old.index.lookUp('o', 'a'))?.terms).toBe('{"amount":"1"}');
    await age();
    const young = await journal.process(versions, secret);
    const asked: unknown[] = [];
    const until = Date.now() + 3500;
    while (Date.now() < until) {
      asked.push(await old.index.lookUp('o', 'a').catch((error: unknown) => error));
      expect((await young.index.lookUp('o', 'a'))?.terms).toBe('{"amount":"1"}');
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    expect(asked.every((answer) => answer instanceof IndexUnavailableError)).toBe(true);
    expect([old.said, young.said]).toEqual([['made anew'], ['made anew']]);
    // It is not left to them for ever: the deployment may have been taken back.
    await age();
    await eventually('the other one has it', () => Promise.resolve(old.said.length === 2));
    expect((await old.index.lookUp('o', 'a'))?.terms).toBe('{"amount":"1"}');
    await journal.stop();
  });

  it('keeps a file that gets its price while it is given up for its age', async () => {
    const { index } = await journal.process(2);
    const note = async (...entries: JournalEntry[]): Promise<void> => {
      journal.entries.push(...entries);
      await index.stored(entries);
    };
    await note(put(1, 'sold'), put(2, 'free'), put(3, 'was_sold'));
    await note(price(4, 'was_sold'), price(5, 'was_sold', ''));
    // The sweep has read all three before the price came.
    await note(price(6, 'sold'));
    await note(forAge(7, 'sold', 1), forAge(8, 'free', 2), forAge(9, 'was_sold', 3));
    const found = async (process: HubIndex): Promise<readonly string[]> => {
      const all = await Promise.all(
        ['sold', 'free', 'was_sold'].map((id) => process.lookUp('o', id)),
      );
      return all.flatMap((named) => (named === undefined ? [] : [named.object.id]));
    };
    expect(await found(index)).toEqual(['sold']);
    // A removal that comes later than a price was taken away is meant.
    await note(price(10, 'sold', ''));
    expect(await found(index)).toEqual(['sold']);
    // The index rebuilt from the journal is the same.
    await redis.flushall();
    const { index: made } = await journal.process(2);
    expect(await found(made)).toEqual(['sold']);
    await eventually('the first one knows it', async () => {
      const names = await found(index).catch(() => []);
      return names.length === 1;
    });
    await note(forAge(11, 'sold', 1));
    expect(await found(made)).toEqual([]);
    await journal.stop();
  });

  it('ends up the same in whatever sequence buckets are created and removed', async () => {
    const mark = (order: number, state: 'made' | 'gone', kind = ''): JournalEntry => ({
      op: 'bucket',
      order,
      owner: 'o',
      id: '',
      bucket: 'b',
      kind,
      state,
    });
    const remove: JournalEntry = { op: 'remove', order: 3, owner: 'o', id: 'a' };
    const entries = [
      put(1, 'a'),
      mark(2, 'made', 'memory'),
      remove,
      mark(4, 'gone'),
      mark(5, 'made', 'file'),
      mark(6, 'made', 'model'),
    ];
    const { index } = await journal.process(0);
    const listing = new HubListing(index);
    const shuffled = (seed: number): readonly JournalEntry[] =>
      entries
        .map((entry, at) => ({ entry, key: (at * 7919 + seed * 104_729) % 1009 }))
        .sort((one, other) => one.key - other.key)
        .map(({ entry }) => entry);
    for (let seed = 0; seed < 12; seed += 1) {
      const keys = (await redis.keys('hub:i:*')).filter((key) => key !== 'hub:i:meta');
      if (keys.length > 0) await redis.del(...keys);
      for (const entry of shuffled(seed)) await index.stored([entry]);
      // A removal may have come before its file: it is applied again, as when the index is rebuilt.
      await index.stored([remove]);
      expect(await listing.bucket('o', 'b')).toMatchObject({ kind: 'file', isMade: true });
      expect(await redis.hget('hub:i:total', 'buckets')).toBe('1');
      await index.stored([mark(7, 'gone'), mark(7, 'gone'), mark(5, 'made', 'file')]);
      expect(await listing.bucket('o', 'b')).toBeUndefined();
      expect(await redis.hgetall('hub:i:total')).toMatchObject({
        buckets: '0',
        objects: '0',
        owners: '0',
      });
    }
    await journal.stop();
  });

  /** Of the keys that stay. */
  const sizes = async (): Promise<Record<string, number>> => {
    const found: Record<string, number> = {};
    for (const key of (await redis.keys('hub:i:*')).sort()) {
      if ((await redis.ttl(key)) >= 0) continue;
      const isHash = (await redis.type(key)) === 'hash';
      found[key] = isHash ? await redis.hlen(key) : await redis.zcard(key);
    }
    return found;
  };

  it('keeps nothing for ever of prices and bytes of files that are gone', async () => {
    const { index } = await journal.process(0);
    const HOURS_3 = 3 * 3600e6;
    const life = (order: number, id: string): JournalEntry[] => [
      put(order, id),
      price(order + 1, id),
      price(order + 2, id, ''),
      forAge(order + 3, id, order),
      { op: 'freed', order: order + 4, owner: 'o', id, payloads: [{ ...put(order, id) }] },
    ];
    await index.stored(life(1, 'first'));
    const before = await sizes();
    // Within a day, which has counts of its own.
    for (let count = 1; count < 8; count += 1) {
      await index.stored(life(count * HOURS_3, `f${count}`));
    }
    expect(await sizes()).toEqual(before);
    expect(await redis.hgetall('hub:i:u:o')).toEqual({ bytes: '0', count: '0' });
    await journal.stop();
  });

  it('has no price that was removed, in whatever order the entries come', async () => {
    const { index } = await journal.process(0);
    const entries = [put(1, 'a'), price(2, 'a'), price(3, 'a', ''), forAge(4, 'a', 1)];
    for (let seed = 0; seed < 12; seed += 1) {
      const keys = (await redis.keys('hub:i:*')).filter((key) => key !== 'hub:i:meta');
      if (keys.length > 0) await redis.del(...keys);
      const shuffled = entries
        .map((entry, at) => ({ entry, key: (at * 7919 + seed * 104_729) % 1009 }))
        .sort((one, other) => one.key - other.key);
      for (const { entry } of shuffled) await index.stored([entry]);
      await index.stored([forAge(4, 'a', 1)]);
      expect(await redis.exists('hub:i:p:o')).toBe(0);
      await index.stored([put(5, 'a')]);
      expect((await index.lookUp('o', 'a'))?.terms).toBeUndefined();
      await index.stored([price(2, 'a')]);
      expect((await index.lookUp('o', 'a'))?.terms).toBeUndefined();
    }
    await journal.stop();
  });

  it('keeps nothing for ever of buckets that were removed', async () => {
    const { index } = await journal.process(0);
    const mark = (order: number, bucket: string, state: 'made' | 'gone'): JournalEntry => ({
      op: 'bucket',
      order,
      owner: 'o',
      id: '',
      bucket,
      kind: 'file',
      state,
    });
    await index.stored([mark(1, 'first', 'made'), mark(2, 'first', 'gone')]);
    const before = await sizes();
    for (let order = 3; order < 43; order += 2) {
      await index.stored([mark(order, `b${order}`, 'made'), mark(order + 1, `b${order}`, 'gone')]);
    }
    expect(await sizes()).toEqual(before);
    await journal.stop();
  });

  it('withdraws the terms that are named, and no price that was set since', async () => {
    const { index } = await journal.process(0);
    const [first, second] = ['{"amount":"1"}', '{"amount":"2|0"}'];
    const withdrawal = (order: number, terms: string): JournalEntry => ({
      ...price(order, 'a', ''),
      op: 'price',
      withdraws: createHash('sha1').update(terms).digest('hex'),
      terms: '',
    });
    const note = async (...entries: JournalEntry[]): Promise<void> => {
      journal.entries.push(...entries);
      await index.stored(entries);
    };
    const terms = async (process: HubIndex): Promise<string | undefined> =>
      (await process.lookUp('o', 'a'))?.terms;
    await note(put(1, 'a'), price(2, 'a', first), price(3, 'a', second), withdrawal(4, first));
    expect(await terms(index)).toBe(second);
    // The index rebuilt from the journal is the same.
    await redis.flushall();
    const { index: made } = await journal.process(0);
    expect(await terms(made)).toBe(second);
    await eventually('the first one knows it', async () => {
      const known = await terms(index).catch(() => undefined);
      return known === second;
    });
    await note(withdrawal(5, second));
    expect(await terms(made)).toBeUndefined();
    await journal.stop();
  });
});
