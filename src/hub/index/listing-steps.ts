import type { Redis } from 'ioredis';
import type { StoredObject, Takedown } from '../storage/storage-provider.js';
import type { HubIndex, NamedObject } from './hub-index.js';
import { madeBucketOf, objectOf, takedownOf } from './index-entry.js';
import {
  bucketIdsKey,
  keyPart,
  madeBucketKey,
  nameOfPart,
  objectsKey,
  type Part,
  pricesKey,
  takedownsKey,
  takenDownKey,
} from './keys.js';

export interface Page {
  readonly offset: number;
  readonly length: number;
  /** The page begins after this row. */
  readonly behind?: Row | undefined;
}

/** A row of a list that is sorted by order, and among rows of one order by name. */
export interface Row {
  readonly part: Part;
  readonly order: number;
}

/** A name with the time it was first seen, in microseconds since the epoch. */
export interface Named {
  readonly name: string;
  readonly since: number;
}

/** A bucket of an owner. */
export interface Bucket extends Named {
  /** Fixed when the bucket is created; `memory` for one that came with its first file. */
  readonly kind: string;
  /** Created by its owner, so it stays when it is empty. */
  readonly isMade: boolean;
}

/** Kind of a bucket that came with its first file. */
const USUAL_KIND = 'memory';

/** Names that are looked up together. */
const NAMES_AT_ONCE = 256;

/** A place in a conversation. */
export interface Member {
  readonly id: Part;
  readonly score: string;
}

export async function membersFrom(
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

/** The position after a member, even if it or others are gone. */
export async function rankBehind(
  redis: Redis,
  key: string,
  { id, score }: Member,
): Promise<number> {
  const rank = await redis.zrank(key, id);
  return rank === null ? redis.zcount(key, '-inf', score) : rank + 1;
}

/** Most rows of one order: several writers may store in one microsecond. */
const TIES_MOST = 16;

export async function newestRows(
  redis: Redis,
  key: string,
  { offset, length, behind }: Page,
): Promise<readonly Row[]> {
  if (length === 0) return [];
  const flat =
    behind === undefined
      ? await redis.zrevrange(key, offset, offset + length - 1, 'WITHSCORES')
      : await redis.zrevrangebyscore(
          key,
          String(behind.order),
          '-inf',
          'WITHSCORES',
          'LIMIT',
          0,
          offset + length + TIES_MOST,
        );
  const rows = flat.flatMap((part, index) =>
    index % 2 === 0 ? [{ part, order: Number(flat[index + 1]) }] : [],
  );
  if (behind === undefined) return rows;
  const isBehind = ({ part, order }: Row): boolean =>
    order < behind.order || (order === behind.order && part < behind.part);
  return rows.filter(isBehind).slice(offset, offset + length);
}

export async function newest(redis: Redis, key: string, page: Page): Promise<Part[]> {
  return (await newestRows(redis, key, page)).map(({ part }) => part);
}

/** @param look - finds the name of a hash; parts without a name are left out. */
export async function named(
  redis: Redis,
  key: string,
  page: Page,
  look: (part: Part) => Promise<string | undefined>,
): Promise<Named[]> {
  const rows = await newestRows(redis, key, page);
  const found: Named[] = [];
  for (let at = 0; at < rows.length; at += NAMES_AT_ONCE) {
    const few = rows.slice(at, at + NAMES_AT_ONCE);
    const names = await Promise.all(
      few.map(async ({ part }) => nameOfPart(part) ?? (await look(part))),
    );
    few.forEach(({ order }, index) => {
      const name = names[index];
      if (name !== undefined) found.push({ name, since: order });
    });
  }
  return found;
}

export async function namedOne(redis: Redis, key: string, name: string): Promise<Named[]> {
  const since = await redis.zscore(key, keyPart(name));
  return since === null ? [] : [{ name, since: Number(since) }];
}

/** An entry of one of the lists of an owner's ids. */
export async function newestObject(
  redis: Redis,
  owner: Part,
  key: string,
): Promise<StoredObject | undefined> {
  const [object] = await objects(redis, owner, await redis.zrevrange(key, 0, 0));
  return object;
}

/** @param rows - of an owner's list of buckets. A bucket that is gone is left out. */
export async function bucketsOf(
  redis: Redis,
  owner: Part,
  rows: readonly Row[],
): Promise<Bucket[]> {
  const found = await Promise.all(
    rows.map(async ({ part, order }): Promise<Bucket | undefined> => {
      const [text] = await redis.zrange(madeBucketKey(owner, part), 0, '0');
      const made = text === undefined ? undefined : madeBucketOf(text);
      const name =
        nameOfPart(part) ??
        made?.bucket ??
        (await newestObject(redis, owner, bucketIdsKey(owner, part)))?.bucket;
      if (name === undefined) return undefined;
      return { name, since: order, kind: made?.kind ?? USUAL_KIND, isMade: made !== undefined };
    }),
  );
  return found.filter((bucket) => bucket !== undefined);
}

export async function objects(
  redis: Redis,
  owner: Part,
  ids: readonly Part[],
): Promise<StoredObject[]> {
  if (ids.length === 0) return [];
  const texts = await redis.hmget(objectsKey(owner), ...ids);
  return texts.flatMap((text) => (text === null ? [] : [objectOf(text)]));
}

/** Prices of an owner's names, as {@link HubIndex.termsIn} reads them; in their order. */
export async function termsOf(
  redis: Redis,
  owner: Part,
  found: readonly StoredObject[],
  index: Pick<HubIndex, 'termsIn'>,
): Promise<(string | undefined)[]> {
  if (found.length === 0) return [];
  const rows = await redis.hmget(pricesKey(owner), ...found.map(({ id }) => keyPart(id)));
  return Promise.all(found.map((object, at) => index.termsIn(object, rows[at])));
}

/** With prices and takedowns. */
export async function priced(
  redis: Redis,
  owner: Part,
  ids: readonly Part[],
  index: Pick<HubIndex, 'termsIn'>,
): Promise<NamedObject[]> {
  if (ids.length === 0) return [];
  const [texts, prices] = await Promise.all([
    redis.hmget(objectsKey(owner), ...ids),
    redis.hmget(pricesKey(owner), ...ids),
  ]);
  const found: Omit<NamedObject, 'takedowns'>[] = [];
  for (const [at, text] of texts.entries()) {
    if (text === null) continue;
    const object = objectOf(text);
    found.push({ object, terms: await index.termsIn(object, prices[at]) });
  }
  const digests = found.map(({ object }) => object.sha256);
  const takedowns = await takedownsOf(redis, digests);
  return found.map((one) => ({
    ...one,
    takedowns: takedowns.filter(({ sha256 }) => sha256 === one.object.sha256),
  }));
}

/** @param digests - of bytes. @returns their takedowns. */
export async function takedownsOf(redis: Redis, digests: readonly string[]): Promise<Takedown[]> {
  if (digests.length === 0 || (await redis.exists(takenDownKey())) === 0) return [];
  const texts = await redis.hmget(takedownsKey(), ...digests);
  return texts
    .flatMap((text) => (text === null ? [] : [takedownOf(text)]))
    .filter(({ state }) => state === 'down');
}
