import { afterEach, describe, expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import { IndexUnavailableError } from '../errors.js';
import { StorageOpening } from '../storage/storage-opening.js';
import type {
  StorageObserver,
  StorageProvider,
  StoredObject,
} from '../storage/storage-provider.js';
import { HubIndex } from './hub-index.js';
import { PriceSeal } from './price-seal.js';

const STORED: StoredObject = {
  op: 'put',
  order: 6,
  owner: 'o',
  id: 'i',
  bucket: 'b',
  kind: 'memory',
  volume: 0,
  start: 0,
  size: 1,
  sha256: '',
  blocks: '',
};

/** An index whose journal is empty, before a Redis that answers every script like this. */
async function indexBefore(
  answer: () => Promise<number>,
): Promise<{ readonly index: HubIndex; readonly logged: string[] }> {
  const logged: string[] = [];
  const seal = new PriceSeal('a secret');
  const redis = {
    hmget: () => Promise.resolve([`10.0.${seal.id}-generation`, '5', 'store']),
    evalsha: answer,
  } as unknown as Redis;
  const storage = {
    start: (observer: StorageObserver) => observer.opened(5),
    stop: () => Promise.resolve(),
    storeId: 'store',
    isWriter: true,
    orderSlack: 0,
    async *entries() {
      yield* await Promise.resolve([]);
    },
  } as unknown as StorageProvider;
  const logger = {
    warn: () => logged.push('missing'),
    info: (facts: unknown) => logged.push((facts as { readonly how: string }).how),
    error: () => logged.push('failed'),
  };
  const index = new HubIndex(redis, logger, { seal, versions: 0 });
  await index.start(new StorageOpening(storage, { info: () => undefined, error: () => undefined }));
  return { index, logged };
}

describe('an index that does not take an entry', () => {
  let index: HubIndex | undefined;

  afterEach(() => index?.stop());

  it.each([
    ['because Redis is away', () => Promise.reject(new Error('gone')), 'failed'],
    ['because it is another one', () => Promise.resolve(0), 'missing'],
  ])('says why, %s, and is caught up', async (_why, answer, expected) => {
    const made = await indexBefore(answer);
    index = made.index;
    await expect(index.stored([STORED])).rejects.toThrow(IndexUnavailableError);
    await index.stop();
    expect(made.logged).toEqual([expected, 'caught up']);
  });
});
