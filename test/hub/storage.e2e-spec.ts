import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { FsStorage } from '../../src/hub/storage/fs/fs-storage.provider.js';
import { MemoryStorage } from '../../src/hub/storage/memory/memory-storage.provider.js';
import { firstVolumeOf } from '../../src/hub/storage/owner-folder.js';
import { S3Storage } from '../../src/hub/storage/s3/s3-storage.provider.js';
import {
  type JournalEntry,
  padded,
  type StorageObserver,
  type StorageProvider,
  type StoredObject,
  VOLUME_BYTES,
} from '../../src/hub/storage/storage-provider.js';
import { verifiedRead } from '../../src/hub/storage/verified-read.js';
import { Secret } from '../../src/platform/config/secret.js';
import { eventually } from '../support/http.js';
import { HUB_ADDRESS, HubWorld } from '../support/hub-world.js';
import { bucketOf } from '../support/s3-bucket.js';
import { S3_KEYS, S3Fixture } from '../support/s3-fixture.js';

/** Something that keeps data, of which several processes can have a provider each. */
interface Store {
  provider(): StorageProvider;
  end(): Promise<void>;
  /** Whether two providers may store at the same time. */
  readonly hasManyWriters: boolean;
}

const now = (): number => Date.now();
const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

const STORES: Readonly<Record<string, () => Promise<Store>>> = {
  memory: () =>
    Promise.resolve({
      provider: () => new MemoryStorage(HUB_ADDRESS, now),
      end: () => Promise.resolve(),
      hasManyWriters: false,
    }),
  fs: () => {
    const dir = mkdtempSync(join(tmpdir(), 'x402-store-'));
    const quiet = (): void => undefined;
    const logger = { info: quiet, warn: quiet, error: quiet };
    return Promise.resolve({
      provider: () => new FsStorage({ dir, hubAddress: HUB_ADDRESS, now, logger }),
      end: () => {
        rmSync(dir, { recursive: true, force: true });
        return Promise.resolve();
      },
      hasManyWriters: false,
    });
  },
  s3: async () => {
    const fixture = await S3Fixture.start();
    const { endpoint, bucket, ...keys } = bucketOf(fixture);
    // Of its own: a server that was given has what an earlier run stored.
    const prefix = `hub-${randomBytes(6).toString('hex')}/`;
    const s3 = {
      bucket,
      region: 'us-east-1',
      endpoint,
      prefix,
      forcePathStyle: true,
      credentials: new Secret(keys),
    };
    return {
      provider: () => new S3Storage({ s3, hubAddress: HUB_ADDRESS, now }),
      end: async () => {
        expect([fixture.refused, fixture.openUploads]).toEqual([0, 0]);
        await fixture.stop();
      },
      hasManyWriters: true,
    };
  },
};

/** Records the observer's calls. */
class Witness implements StorageObserver {
  readonly heard: JournalEntry[] = [];
  lastOrder: number | undefined;

  opened(lastOrder: number | undefined): Promise<void> {
    this.lastOrder = lastOrder;
    return Promise.resolve();
  }

  stored(entries: readonly JournalEntry[]): Promise<void> {
    this.heard.push(...entries);
    return Promise.resolve();
  }
}

async function* inPieces(bytes: Uint8Array, size = 65_536): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) {
    yield await Promise.resolve(bytes.subarray(at, at + size));
  }
}

async function gathered(pieces: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const all: Uint8Array[] = [];
  for await (const piece of pieces) all.push(piece);
  return Buffer.concat(all);
}

async function collected(entries: AsyncIterable<JournalEntry>): Promise<JournalEntry[]> {
  const all: JournalEntry[] = [];
  for await (const entry of entries) all.push(entry);
  return all.sort((a, b) => a.order - b.order);
}

describe.each(Object.entries(STORES))('%s storage', (kind, makeStore) => {
  /** Of data that outlives its process. */
  const itLasts = kind === 'memory' ? it.skip : it;
  let store: Store;
  let storage: StorageProvider;
  let witness: Witness;
  const running: StorageProvider[] = [];

  const named = (owner: string, id: string) => () => ({ owner, id, bucket: 'b', kind: 'memory' });
  const put = (owner: string, id: string, text: string): Promise<StoredObject> =>
    storage.put(named(owner, id), Buffer.from(text));
  const readAll = (object: StoredObject, from = storage): Promise<Buffer> =>
    gathered(verifiedRead(from, object, 0, object.size));

  async function started(): Promise<StorageProvider> {
    const provider = store.provider();
    running.push(provider);
    witness = new Witness();
    await provider.start(witness);
    return provider;
  }

  beforeAll(async () => {
    store = await makeStore();
    storage = await started();
  });
  afterAll(async () => {
    for (const provider of running) await provider.stop();
    await store.end();
  });

  it('gives back what it was given, from a place that is a multiple of 31', async () => {
    const first = await put('o', 'a', 'llamas');
    const second = await put('o', 'b', 'x'.repeat(32));
    const third = await put('o', 'c', 'y');
    expect([first.start, second.start, third.start]).toEqual([0, 31, 93]);
    expect(first.volume).toBe(firstVolumeOf(HUB_ADDRESS, 'o'));
    expect(first.sha256).toBe(sha256(Buffer.from('llamas')));
    expect((await readAll(first)).toString()).toBe('llamas');
    expect((await readAll(second)).toString()).toBe('x'.repeat(32));
    expect((await gathered(verifiedRead(storage, second, 30, 2))).toString()).toBe('xx');
  });

  it('tells its observer before its caller, in the order of its journal', async () => {
    const entry = await put('told', 'a', 'b');
    expect(witness.heard.at(-1)).toEqual(entry);
    await storage.note({ op: 'remove', owner: 'told', id: 'a' });
    const orders = witness.heard.map(({ order }) => order);
    expect(orders).toEqual(orders.toSorted((a, b) => a - b));
    const all = await collected(storage.entries(0));
    expect(all).toEqual(witness.heard);
    expect(all.at(-1)).toMatchObject({ op: 'remove', owner: 'told', id: 'a' });
  });

  it('streams in and out, and checks every block', async () => {
    const bytes = randomBytes(12_345_678);
    const object = await storage.put(named('long', 'l'), inPieces(bytes));
    expect([object.size, object.sha256]).toEqual([bytes.length, sha256(bytes)]);
    expect(sha256(await readAll(object))).toBe(sha256(bytes));
    const part = await gathered(verifiedRead(storage, object, 1_048_000, 3_000_000));
    expect(sha256(part)).toBe(sha256(bytes.subarray(1_048_000, 4_048_000)));
    const wrong = { ...object, blocks: `00000000${object.blocks.slice(8)}` };
    await expect(readAll(wrong)).rejects.toThrow(/block 0 .* is damaged/);
    const longer = { ...object, size: object.size + 1_048_576 };
    await expect(readAll(longer)).rejects.toThrow(/is damaged/);
  });

  it.each([100, 8_000_000])('stores nothing of a stream of %d bytes that breaks', async (size) => {
    async function* broken(): AsyncGenerator<Uint8Array> {
      yield* inPieces(Buffer.alloc(size));
      throw new Error('the client is gone');
    }
    const before = (await collected(storage.entries(0))).length;
    await expect(storage.put(named('broken', 'x'), broken())).rejects.toThrow('the client is gone');
    const refused = storage.put(
      () => Promise.reject(new Error('not yours')),
      inPieces(Buffer.alloc(size)),
    );
    await expect(refused).rejects.toThrow('not yours');
    expect(await collected(storage.entries(0))).toHaveLength(before);
  });

  it('never gives one place twice', async () => {
    const lengths = Array.from({ length: 60 }, (_, index) => (index * 37) % 200 || 1);
    const objects = await Promise.all(
      lengths.map((length, index) => put(`p${index % 3}`, `n${index}`, 'z'.repeat(length))),
    );
    const taken = new Map<string, number>();
    for (const { owner, volume, start, size } of objects.sort((a, b) => a.start - b.start)) {
      const key = `${owner}/${volume}`;
      expect(start).toBeGreaterThanOrEqual(taken.get(key) ?? 0);
      expect(start % 31).toBe(0);
      taken.set(key, start + padded(size));
    }
  });

  it('goes on in the next volume when one is full', async () => {
    const chunk = Buffer.alloc(VOLUME_BYTES / 4);
    const objects: StoredObject[] = [];
    for (let index = 0; index < 5; index += 1) {
      objects.push(await storage.put(named('full', `f${index}`), chunk));
    }
    const [first, , , fourth, fifth] = objects;
    expect(fourth?.volume).toBe(first?.volume);
    expect(fifth).toMatchObject({ volume: (first?.volume ?? 0) + 1, start: 0 });
  });

  it('frees the bytes of one place, again too, and those of no other', async () => {
    const texts = ['before', 'x'.repeat(20_000), 'behind'];
    const [before, dead, behind] = await Promise.all(
      texts.map((text, index) => put('freed', `n${index}`, text)),
    );
    if (!before || !dead || !behind) throw new Error('not stored');
    for (let time = 0; time < 2; time += 1) await storage.free([dead]);
    const left = await gathered(storage.read(dead, 0, dead.size)).catch(() => Buffer.alloc(0));
    expect(left.every((byte) => byte === 0)).toBe(true);
    await expect(readAll(dead)).rejects.toThrow();
    expect([before, behind].map(({ size }) => size)).toEqual([6, 6]);
    expect((await readAll(before)).toString()).toBe('before');
    expect((await readAll(behind)).toString()).toBe('behind');
    // A place is taken for ever.
    const next = await put('freed', 'next', 'next');
    expect(next.volume === dead.volume && next.start === dead.start).toBe(false);
  });

  it('passes its own probe', async () => {
    await expect(storage.probe()).resolves.toBeUndefined();
  });

  itLasts('is found whole by the next process', async () => {
    const kept = await put('kept', 'k', 'still here');
    const before = await collected(storage.entries(0));
    await storage.stop();
    const next = await started();
    const wasWriter = storage;
    storage = next;
    expect(next.storeId).toBe(wasWriter.storeId);
    expect(await collected(next.entries(0))).toEqual(before);
    expect(await collected(next.entries(kept.order))).not.toContainEqual(kept);
    expect((await readAll(kept, next)).toString()).toBe('still here');
    const more = await put('kept', 'm', 'more');
    expect(more.order).toBeGreaterThan(kept.order);
    expect(more.volume > kept.volume || more.start >= kept.start + padded(kept.size)).toBe(true);
  });

  itLasts('is written by one process at a time, or by several without collision', async () => {
    const other = await started();
    expect(other.isWriter).toBe(store.hasManyWriters);
    const first = await put('both', 'x', 'by one');
    const second = other.put(named('both', 'y'), Buffer.from('by the other'));
    // Where there is one writer, the other one waits for it to end.
    if (!store.hasManyWriters) await storage.stop();
    const object = await second;
    expect([object.volume, object.start]).not.toEqual([first.volume, first.start]);
    expect((await readAll(first, other)).toString()).toBe('by one');
    expect((await readAll(object, other)).toString()).toBe('by the other');
  });
});

describe('S3', () => {
  let fixture: S3Fixture;

  beforeAll(async () => {
    fixture = await S3Fixture.start();
  });
  afterAll(() => fixture.stop());

  const storageWith = (secretAccessKey: string): S3Storage =>
    new S3Storage({
      s3: {
        bucket: 'files',
        region: 'us-east-1',
        endpoint: fixture.url,
        prefix: '',
        forcePathStyle: true,
        credentials: new Secret({ ...S3_KEYS, secretAccessKey }),
      },
      hubAddress: HUB_ADDRESS,
      now,
    });
  const object = () => ({ owner: 'o', id: 'i', bucket: 'b', kind: 'memory' });

  it('counts a creation whose answer was lost as made', async () => {
    const storage = storageWith(S3_KEYS.secretAccessKey);
    await storage.start(new Witness());
    fixture.lostAnswers.add(/^volumes\/.*claim$/);
    fixture.lostAnswers.add(/^volumes\/.*\d$/);
    fixture.lostAnswers.add(/^journal\//);
    const stored = await storage.put(object, Buffer.from('once'));
    expect(fixture.lostAnswers.size).toBe(0);
    expect(await collected(storage.entries(0))).toEqual([stored]);
    await storage.stop();
  });

  it('keeps the files of several hubs that share an index', async () => {
    const world = await HubWorld.start();
    try {
      const [one, two] = [await world.hub(fixture.settings), await world.hub(fixture.settings)];
      await Promise.all(
        [one, two].flatMap((hub, at) =>
          Array.from({ length: 5 }, (_, index) =>
            hub.store('o', `h${at}_${index}`, `${at}${index}`),
          ),
        ),
      );
      expect((await one.download('o', 'h1_3')).text).toBe('13');
      expect((await two.download('o', 'h0_4')).text).toBe('04');
      const { Redis } = await import('ioredis');
      const redis = new Redis(world.redis.url);
      await redis.flushall();
      await redis.quit();
      for (const hub of [one, two]) {
        await eventually('it is found again', async () => {
          const { status } = await hub.download('o', 'h1_4');
          expect([200, 503]).toContain(status);
          return status === 200;
        });
      }
      expect((await one.post('/api/conversation', 'owner=o&id=h0')).json).toHaveLength(5);
    } finally {
      await world.stop();
    }
  });
});
