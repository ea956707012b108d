import type { Redis } from 'ioredis';
import type { ObjectName, StoredObject } from '../storage/storage-provider.js';
import { membershipOf } from './conversation.js';
import type { HubIndex, NamedObject } from './hub-index.js';
import { objectOf, priceTextIn } from './index-entry.js';
import {
  accountsKey,
  bucketIdsKey,
  bucketsKey,
  conversationsKey,
  idsKey,
  keyPart,
  membersKey,
  nameOfPart,
  objectsKey,
  ownersOfIdKey,
  type Part,
  pricesKey,
  recentKey,
  totalKey,
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

/** Members of a conversation that are in memory at a time. */
const MEMBERS_AT_ONCE = 16;

/** Names that are looked up at a time: what is asked together is also answered together. */
const NAMES_AT_ONCE = 256;

/** What the index lists. Newest first, but for the members of a conversation. */
export class HubListing {
  constructor(private readonly index: HubIndex) {}

  accounts(page: Page): Promise<readonly Named[]> {
    return this.index.query((redis) =>
      named(redis, accountsKey(), page, async (owner) => {
        return (await newestObject(redis, owner, idsKey(owner)))?.owner;
      }),
    );
  }

  /** When an owner was first seen. */
  account(owner: string): Promise<readonly Named[]> {
    return this.index.query((redis) => namedOne(redis, accountsKey(), owner));
  }

  buckets(owner: string, page: Page): Promise<readonly Named[]> {
    const part = keyPart(owner);
    return this.index.query((redis) =>
      named(redis, bucketsKey(part), page, async (bucket) => {
        return (await newestObject(redis, part, bucketIdsKey(part, bucket)))?.bucket;
      }),
    );
  }

  bucket(owner: string, bucket: string): Promise<readonly Named[]> {
    return this.index.query((redis) => namedOne(redis, bucketsKey(keyPart(owner)), bucket));
  }

  conversations(owner: string, page: Page): Promise<readonly Named[]> {
    const part = keyPart(owner);
    return this.index.query((redis) =>
      named(redis, conversationsKey(part), page, async (conversation) => {
        const member = await newestObject(redis, part, membersKey(part, conversation));
        return member && membershipOf(member.id)?.conversation;
      }),
    );
  }

  conversation(owner: string, name: string): Promise<readonly Named[]> {
    return this.index.query((redis) => namedOne(redis, conversationsKey(keyPart(owner)), name));
  }

  conversationSizes(owner: string, conversations: readonly string[]): Promise<readonly number[]> {
    const part = keyPart(owner);
    return this.index.query((redis) =>
      Promise.all(conversations.map((name) => redis.zcard(membersKey(part, keyPart(name))))),
    );
  }

  /** By their numbers, and among those without one by when they were first written. */
  async members(owner: string, conversation: string, page: Page): Promise<readonly StoredObject[]> {
    const found: StoredObject[] = [];
    for await (const member of this.eachMember(owner, conversation, page))
      found.push(member.object);
    return found;
  }

  /** The same, a few at a time: a conversation may be longer than fits in memory many times over. */
  async *eachMember(
    owner: string,
    conversation: string,
    { offset, length }: Page,
  ): AsyncGenerator<NamedObject> {
    const part = keyPart(owner);
    const key = membersKey(part, keyPart(conversation));
    let last: Member | undefined;
    for (let left = length; left > 0; left -= MEMBERS_AT_ONCE) {
      const count = Math.min(left, MEMBERS_AT_ONCE);
      const { members, found } = await this.index.query(async (redis) => {
        const from = last === undefined ? offset : await rankBehind(redis, key, last);
        const next = await membersFrom(redis, key, from, count);
        return {
          members: next,
          found: await priced(
            redis,
            part,
            next.map(({ id }) => id),
          ),
        };
      });
      yield* found;
      if (members.length < count) return;
      last = members.at(-1);
    }
  }

  object(owner: string, id: string): Promise<readonly StoredObject[]> {
    return this.index.query((redis) => objects(redis, keyPart(owner), [keyPart(id)]));
  }

  objects(owner: string, bucket: string, page: Page): Promise<readonly StoredObject[]> {
    const part = keyPart(owner);
    return this.index.query(async (redis) => {
      const key = bucket === '' ? idsKey(part) : bucketIdsKey(part, keyPart(bucket));
      return objects(redis, part, await newest(redis, key, page));
    });
  }

  /** The newest payloads of a name, one of each owner. */
  objectsNamed(id: string, page: Page): Promise<readonly StoredObject[]> {
    return this.index.query(async (redis) => {
      const owners = await newest(redis, ownersOfIdKey(keyPart(id)), page);
      const found = await Promise.all(owners.map((owner) => objects(redis, owner, [keyPart(id)])));
      return found.flat();
    });
  }

  /** The newest payloads of everybody, as far as they are remembered. */
  recent(page: Page): Promise<readonly StoredObject[]> {
    return this.index.query(async (redis) => {
      const names = await newest(redis, recentKey(), page);
      const found = await Promise.all(
        names.map((name) => {
          const [owner = '', id = ''] = name.split(':');
          return objects(redis, owner, [id]);
        }),
      );
      return found.flat();
    });
  }

  volumes(owner: string, page: Page): Promise<readonly VolumeRow[]> {
    return this.index.query(async (redis) => {
      const ends = await redis.hgetall(volumesKey(keyPart(owner)));
      return Object.entries(ends)
        .map(([volume, bytes]) => ({ volume: Number(volume), bytes: Number(bytes) }))
        .sort((a, b) => b.volume - a.volume)
        .slice(page.offset, page.offset + page.length);
    });
  }

  usageOf(owner: string): Promise<Usage> {
    return this.index.query(async (redis) => {
      const [bytes, count] = await redis.hmget(usageKey(keyPart(owner)), 'bytes', 'count');
      return { bytes: Number(bytes ?? 0), count: Number(count ?? 0) };
    });
  }

  /** Payloads of all owners that can be found, and whether this name is one of them. */
  fill({
    owner,
    id,
  }: ObjectName): Promise<{ readonly objects: number; readonly isKnown: boolean }> {
    return this.index.query(async (redis) => {
      const [count, known] = await Promise.all([
        redis.hget(totalKey(), 'objects'),
        redis.hexists(objectsKey(keyPart(owner)), keyPart(id)),
      ]);
      return { objects: Number(count ?? 0), isKnown: known === 1 };
    });
  }
}

/** A place in a conversation. */
interface Member {
  readonly id: Part;
  readonly score: string;
}

async function membersFrom(
  redis: Redis,
  key: string,
  from: number,
  count: number,
): Promise<readonly Member[]> {
  const flat = await redis.zrange(key, from, String(from + count - 1), 'WITHSCORES');
  return flat.flatMap((id, index) =>
    index % 2 === 0 ? [{ id, score: flat[index + 1] ?? '0' }] : [],
  );
}

/** Where a conversation goes on behind a member, though it or others may be gone meanwhile. */
async function rankBehind(redis: Redis, key: string, { id, score }: Member): Promise<number> {
  const rank = await redis.zrank(key, id);
  return rank === null ? redis.zcount(key, '-inf', score) : rank + 1;
}

async function newest(redis: Redis, key: string, { offset, length }: Page): Promise<Part[]> {
  return length === 0 ? [] : redis.zrevrange(key, offset, offset + length - 1);
}

/** @param look - finds the name behind a hash; what has none any more is left out. */
async function named(
  redis: Redis,
  key: string,
  { offset, length }: Page,
  look: (part: Part) => Promise<string | undefined>,
): Promise<Named[]> {
  if (length === 0) return [];
  const flat = await redis.zrevrange(key, offset, offset + length - 1, 'WITHSCORES');
  const rows = flat.flatMap((part, index) =>
    index % 2 === 0 ? [{ part, since: Number(flat[index + 1]) }] : [],
  );
  const found: Named[] = [];
  for (let at = 0; at < rows.length; at += NAMES_AT_ONCE) {
    const few = rows.slice(at, at + NAMES_AT_ONCE);
    const names = await Promise.all(
      few.map(async ({ part }) => nameOfPart(part) ?? (await look(part))),
    );
    few.forEach(({ since }, index) => {
      const name = names[index];
      if (name !== undefined) found.push({ name, since });
    });
  }
  return found;
}

async function namedOne(redis: Redis, key: string, name: string): Promise<Named[]> {
  const since = await redis.zscore(key, keyPart(name));
  return since === null ? [] : [{ name, since: Number(since) }];
}

/** An entry of one of the lists of an owner's ids. */
async function newestObject(
  redis: Redis,
  owner: Part,
  key: string,
): Promise<StoredObject | undefined> {
  const [object] = await objects(redis, owner, await redis.zrevrange(key, 0, 0));
  return object;
}

async function objects(redis: Redis, owner: Part, ids: readonly Part[]): Promise<StoredObject[]> {
  if (ids.length === 0) return [];
  const texts = await redis.hmget(objectsKey(owner), ...ids);
  return texts.flatMap((text) => (text === null ? [] : [objectOf(text)]));
}

/** With what they cost. */
async function priced(redis: Redis, owner: Part, ids: readonly Part[]): Promise<NamedObject[]> {
  if (ids.length === 0) return [];
  const [texts, prices] = await Promise.all([
    redis.hmget(objectsKey(owner), ...ids),
    redis.hmget(pricesKey(owner), ...ids),
  ]);
  return texts.flatMap((text, at) =>
    text === null ? [] : [{ object: objectOf(text), terms: priceTextIn(prices[at] ?? undefined) }],
  );
}
