import { Injectable } from '@nestjs/common';
import type { Redis } from 'ioredis';
import type { ObjectName, StoredObject, Takedown } from '../storage/storage-provider.js';
import { membershipOf } from './conversation.js';
import { HubIndex, type NamedObject } from './hub-index.js';
import { objectOf, takedownOf } from './index-entry.js';
import {
  accountsKey,
  bucketIdsKey,
  bucketsKey,
  conversationsKey,
  daysKey,
  idsKey,
  keyPart,
  membersKey,
  objectsKey,
  ownersOfIdKey,
  type Part,
  recentKey,
  retentionsKey,
  takedownActsKey,
  takenDownKey,
  totalKey,
  usageKey,
  versionsKey,
  volumesKey,
} from './keys.js';
import {
  type Bucket,
  bucketsOf,
  type Member,
  membersFrom,
  type Named,
  named,
  namedOne,
  newest,
  newestObject,
  newestRows,
  objects,
  type Page,
  priced,
  rankBehind,
  type Row,
  takedownsOf,
  termsOf,
} from './listing-steps.js';

interface VolumeRow {
  readonly volume: number;
  /** Where its last payload ends, bytes. */
  readonly bytes: number;
}

interface Usage {
  readonly bytes: number;
  readonly count: number;
}

/** Counts of one day. A bucket that was emptied counts again when it comes back. */
export interface DayCounts {
  /** Days since 1970, UTC. */
  readonly day: number;
  readonly owners: number;
  readonly buckets: number;
  readonly objects: number;
  readonly bytes: number;
  readonly volumes: number;
}

/** Part of a list. `next` is the row that the next part begins behind; `undefined` at the end of the list. */
interface Continued {
  readonly next: Row | undefined;
  /** Of the whole list. */
  readonly count: number;
}

interface FilePage extends Continued {
  readonly files: readonly StoredObject[];
}

interface BucketPage extends Continued {
  readonly buckets: readonly Bucket[];
}

/** Of all owners together. */
interface HubTotals {
  /** Owners who have ever stored something. */
  readonly seen: number;
  /** Owners who have any file now. */
  readonly owners: number;
  readonly objects: number;
  /** Stored and not freed. */
  readonly bytes: number;
}

/** Limits of buckets that are searched for one kind: so many at a time, so many times. */
const BUCKETS_AT_ONCE = 100;
const BUCKET_STEPS = 10;

/** Members of a conversation that are in memory at a time. */
const MEMBERS_AT_ONCE = 16;

/** Lists of the index, newest first, except for the members of a conversation. */
@Injectable()
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

  /**
   * @param kind - of the buckets; empty for any. One call checks a limited number of buckets, so a page may be shorter
   *   than requested and still have a next one.
   */
  buckets(owner: string, page: Page, kind = ''): Promise<BucketPage> {
    const part = keyPart(owner);
    const isAny = kind === '';
    const wanted = isAny ? page.length : page.offset + page.length;
    return this.index.query(async (redis) => {
      const found: Bucket[] = [];
      let next: Row | undefined;
      let from: Page = isAny ? page : { offset: 0, length: BUCKETS_AT_ONCE, behind: page.behind };
      for (let step = 0; step < (isAny ? 1 : BUCKET_STEPS); step += 1) {
        const rows = await newestRows(redis, bucketsKey(part), from);
        const some = await bucketsOf(redis, part, rows);
        found.push(...some.filter((bucket) => isAny || bucket.kind === kind));
        next = rows.length < from.length ? undefined : rows.at(-1);
        if (next === undefined || found.length >= wanted) break;
        from = { ...from, behind: next };
      }
      const last = found[wanted - 1];
      if (last !== undefined) next = { part: keyPart(last.name), order: last.since };
      const count = await redis.zcard(bucketsKey(part));
      return { buckets: found.slice(isAny ? 0 : page.offset, wanted), next, count };
    });
  }

  bucket(owner: string, bucket: string): Promise<Bucket | undefined> {
    const [part, name] = [keyPart(owner), keyPart(bucket)];
    return this.index.query(async (redis) => {
      const since = await redis.zscore(bucketsKey(part), name);
      if (since === null) return undefined;
      const [found] = await bucketsOf(redis, part, [{ part: name, order: Number(since) }]);
      return found && { ...found, name: bucket };
    });
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

  /** By number, and without a number by the time they were first written. */
  async members(owner: string, conversation: string, page: Page): Promise<readonly StoredObject[]> {
    const found: StoredObject[] = [];
    for await (const member of this.eachMember(owner, conversation, page))
      found.push(member.object);
    return found;
  }

  /** The same, a few at a time, because a conversation may be much longer than fits in memory. */
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
            this.index,
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

  /** Of a bucket, or of all buckets of the owner if it is empty. */
  files(owner: string, bucket: string, page: Page): Promise<FilePage> {
    const part = keyPart(owner);
    const key = bucket === '' ? idsKey(part) : bucketIdsKey(part, keyPart(bucket));
    return this.#filesOf(key, page, (redis, parts) => objects(redis, part, parts));
  }

  /**
   * Prices of an owner's files, as `src/hub/sales/price.ts` writes them; in the order of the files.
   */
  termsOf(owner: string, found: readonly StoredObject[]): Promise<(string | undefined)[]> {
    return this.index.query((redis) => termsOf(redis, keyPart(owner), found, this.index));
  }

  /** Stored versions of a name, newest first. */
  versions({ owner, id }: ObjectName): Promise<readonly StoredObject[]> {
    const [part, name] = [keyPart(owner), keyPart(id)];
    return this.index.query(async (redis) => {
      const newestOne = await objects(redis, part, [name]);
      const older = await redis.zrevrange(versionsKey(part, name), 0, -1);
      return newestOne.length === 0 ? [] : [...newestOne, ...older.map(objectOf)];
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

  /** The newest payloads of all owners, within a limit. */
  recent(page: Page): Promise<FilePage> {
    return this.#filesOf(recentKey(), page, async (redis, names) => {
      const found = await Promise.all(
        names.map((name) => {
          const [owner = '', id = ''] = name.split(':');
          return objects(redis, owner, [id]);
        }),
      );
      return found.flat();
    });
  }

  #filesOf(
    key: string,
    page: Page,
    look: (redis: Redis, parts: readonly Part[]) => Promise<readonly StoredObject[]>,
  ): Promise<FilePage> {
    return this.index.query(async (redis) => {
      const rows = await newestRows(redis, key, page);
      const files = await look(
        redis,
        rows.map(({ part }) => part),
      );
      const next = rows.length < page.length ? undefined : rows.at(-1);
      return { files, next, count: await redis.zcard(key) };
    });
  }

  /** The takedowns of these bytes. */
  takedownsOf(digests: readonly string[]): Promise<readonly Takedown[]> {
    return this.index.query((redis) => takedownsOf(redis, digests));
  }

  /** Digests of bytes that are taken down, the newest first, and how many there are. */
  takenDown(
    page: Page,
  ): Promise<{ readonly takedowns: readonly Takedown[]; readonly count: number }> {
    return this.index.query(async (redis) => {
      const digests = await newest(redis, takenDownKey(), page);
      const found = await takedownsOf(redis, digests);
      return { takedowns: found, count: await redis.zcard(takenDownKey()) };
    });
  }

  /** All takedowns and restorations, the newest first. */
  takedownActs(page: Page): Promise<readonly Takedown[]> {
    return this.index.query(async (redis) =>
      (await newest(redis, takedownActsKey(), page)).map(takedownOf),
    );
  }

  /** Owners, as in keys, whose files are kept for a number of days. */
  retentions(): Promise<readonly { readonly owner: Part; readonly days: number }[]> {
    return this.index.query(async (redis) => {
      const rows = Object.entries(await redis.hgetall(retentionsKey()));
      return rows.flatMap(([owner, row]) =>
        daysIn(row) > 0 ? [{ owner, days: daysIn(row) }] : [],
      );
    });
  }

  /** 0 without limit. */
  retentionOf(owner: string): Promise<number> {
    return this.index.query(async (redis) => {
      return daysIn((await redis.hget(retentionsKey(), keyPart(owner))) ?? '');
    });
  }

  /**
   * Files whose newest version was stored before a time, the oldest first.
   *
   * @param owner - as in keys.
   * @param before - microseconds since the epoch.
   * @returns `undefined` in place of a file that has a price or is gone.
   */
  olderThan(
    owner: Part,
    before: number,
    { offset, length }: Page,
  ): Promise<readonly (StoredObject | undefined)[]> {
    return this.index.query(async (redis) => {
      const ids = await redis.zrangebyscore(idsKey(owner), '-inf', before, 'LIMIT', offset, length);
      const found = await priced(redis, owner, ids, this.index);
      const byId = new Map(found.map((named) => [keyPart(named.object.id), named]));
      return ids.map((id) => {
        const named = byId.get(id);
        if (named === undefined || named.terms !== undefined) return undefined;
        // The file may have been written again since the list was read.
        return named.object.order <= before ? named.object : undefined;
      });
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

  /** Counts of each day with an upload, the oldest first. */
  days(): Promise<readonly DayCounts[]> {
    return this.index.query(async (redis) => {
      const counts = new Map(Object.entries(await redis.hgetall(daysKey())));
      const days = new Set([...counts.keys()].map((field) => Number(field.split(':')[0])));
      return [...days]
        .sort((a, b) => a - b)
        .map((day) => {
          const of = (what: Exclude<keyof DayCounts, 'day'>): number =>
            Number(counts.get(`${day}:${what}`) ?? 0);
          return {
            day,
            owners: of('owners'),
            buckets: of('buckets'),
            objects: of('objects'),
            bytes: of('bytes'),
            volumes: of('volumes'),
          };
        });
    });
  }

  usageOf(owner: string): Promise<Usage> {
    return this.index.query(async (redis) => {
      const [bytes, count] = await redis.hmget(usageKey(keyPart(owner)), 'bytes', 'count');
      return { bytes: Number(bytes ?? 0), count: Number(count ?? 0) };
    });
  }

  /** Of all owners together. */
  totals(): Promise<HubTotals> {
    return this.index.query(async (redis) => {
      const [seen, counts] = await Promise.all([
        redis.zcard(accountsKey()),
        redis.hmget(totalKey(), 'owners', 'objects', 'bytes'),
      ]);
      const [owners, objects, bytes] = counts.map((count) => Number(count ?? 0));
      return { seen, owners: owners ?? 0, objects: objects ?? 0, bytes: bytes ?? 0 };
    });
  }

  /** Numbers of findable payloads and created buckets of all owners, and whether this name is one of them. */
  fill({
    owner,
    id,
  }: ObjectName): Promise<{ readonly objects: number; readonly isKnown: boolean }> {
    return this.index.query(async (redis) => {
      const [counts, known] = await Promise.all([
        redis.hmget(totalKey(), 'objects', 'buckets'),
        redis.hexists(objectsKey(keyPart(owner)), keyPart(id)),
      ]);
      const count = counts.reduce((sum, one) => sum + Number(one ?? 0), 0);
      return { objects: count, isKnown: known === 1 };
    });
  }
}

/** Of a row `<order>|<days>`. */
function daysIn(row: string): number {
  return Number(row.slice(row.indexOf('|') + 1));
}
