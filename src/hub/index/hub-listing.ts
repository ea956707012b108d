import type { Redis } from 'ioredis';
import type { StoredObject } from '../storage/storage-provider.js';
import type { HubIndex } from './hub-index.js';
import { objectOf } from './index-entry.js';
import {
  accountsKey,
  bucketIdsKey,
  bucketsKey,
  conversationsKey,
  idsKey,
  membersKey,
  objectsKey,
  ownersOfIdKey,
  recentKey,
  usageKey,
  volumesKey,
} from './keys.js';

export interface Page {
  readonly offset: number;
  readonly length: number;
}

/** A name and when it was first seen, in microseconds since the epoch. */
export interface Named {
  readonly name: string;
  readonly since: number;
}

export interface VolumeRow {
  readonly volume: number;
  /** Where its last payload ends, bytes. */
  readonly bytes: number;
}

export interface Usage {
  readonly bytes: number;
  readonly count: number;
}

/** What the index lists. Newest first, but for the members of a conversation. */
export class HubListing {
  constructor(private readonly index: HubIndex) {}

  accounts(page: Page): Promise<readonly Named[]> {
    return this.index.query((redis) => named(redis, accountsKey(), page));
  }

  /** When an owner was first seen. */
  account(owner: string): Promise<readonly Named[]> {
    return this.index.query((redis) => namedOne(redis, accountsKey(), owner));
  }

  buckets(owner: string, page: Page): Promise<readonly Named[]> {
    return this.index.query((redis) => named(redis, bucketsKey(owner), page));
  }

  bucket(owner: string, bucket: string): Promise<readonly Named[]> {
    return this.index.query((redis) => namedOne(redis, bucketsKey(owner), bucket));
  }

  conversations(owner: string, page: Page): Promise<readonly Named[]> {
    return this.index.query((redis) => named(redis, conversationsKey(owner), page));
  }

  conversation(owner: string, name: string): Promise<readonly Named[]> {
    return this.index.query((redis) => namedOne(redis, conversationsKey(owner), name));
  }

  conversationSize(owner: string, conversation: string): Promise<number> {
    return this.index.query((redis) => redis.zcard(membersKey(owner, conversation)));
  }

  /** By their numbers, and among those without one by when they were first written. */
  members(owner: string, conversation: string, page: Page): Promise<readonly StoredObject[]> {
    return this.index.query(async (redis) => {
      const last = String(page.offset + page.length - 1);
      const ids =
        page.length === 0
          ? []
          : await redis.zrange(membersKey(owner, conversation), page.offset, last);
      return objects(redis, owner, ids);
    });
  }

  object(owner: string, id: string): Promise<readonly StoredObject[]> {
    return this.index.query((redis) => objects(redis, owner, [id]));
  }

  objects(owner: string, bucket: string, page: Page): Promise<readonly StoredObject[]> {
    return this.index.query(async (redis) => {
      const key = bucket === '' ? idsKey(owner) : bucketIdsKey(owner, bucket);
      return objects(redis, owner, await newest(redis, key, page));
    });
  }

  /** The newest payloads of a name, one of each owner. */
  objectsNamed(id: string, page: Page): Promise<readonly StoredObject[]> {
    return this.index.query(async (redis) => {
      const owners = await newest(redis, ownersOfIdKey(id), page);
      const found = await Promise.all(owners.map((owner) => objects(redis, owner, [id])));
      return found.flat();
    });
  }

  /** The newest payloads of everybody, as far as they are remembered. */
  recent(page: Page): Promise<readonly StoredObject[]> {
    return this.index.query(async (redis) => {
      const names = await newest(redis, recentKey(), page);
      const found = await Promise.all(
        names.map((name) => {
          const [owner = '', id = ''] = name.split(':').map(decodeURIComponent);
          return objects(redis, owner, [id]);
        }),
      );
      return found.flat();
    });
  }

  volumes(owner: string, page: Page): Promise<readonly VolumeRow[]> {
    return this.index.query(async (redis) => {
      const ends = await redis.hgetall(volumesKey(owner));
      return Object.entries(ends)
        .map(([volume, bytes]) => ({ volume: Number(volume), bytes: Number(bytes) }))
        .sort((a, b) => b.volume - a.volume)
        .slice(page.offset, page.offset + page.length);
    });
  }

  usageOf(owner: string): Promise<Usage> {
    return this.index.query(async (redis) => {
      const [bytes, count] = await redis.hmget(usageKey(owner), 'bytes', 'count');
      return { bytes: Number(bytes ?? 0), count: Number(count ?? 0) };
    });
  }
}

async function newest(redis: Redis, key: string, { offset, length }: Page): Promise<string[]> {
  return length === 0 ? [] : redis.zrevrange(key, offset, offset + length - 1);
}

async function named(redis: Redis, key: string, { offset, length }: Page): Promise<Named[]> {
  if (length === 0) return [];
  const flat = await redis.zrevrange(key, offset, offset + length - 1, 'WITHSCORES');
  return flat.flatMap((name, index) =>
    index % 2 === 0 ? [{ name, since: Number(flat[index + 1]) }] : [],
  );
}

async function namedOne(redis: Redis, key: string, name: string): Promise<Named[]> {
  const since = await redis.zscore(key, name);
  return since === null ? [] : [{ name, since: Number(since) }];
}

async function objects(redis: Redis, owner: string, ids: string[]): Promise<StoredObject[]> {
  if (ids.length === 0) return [];
  const texts = await redis.hmget(objectsKey(owner), ...ids);
  return texts.flatMap((text) => (text === null ? [] : [objectOf(text)]));
}
