import type { Redis } from 'ioredis';

/** Bytes Redis uses for everything it holds. */
export async function usedBytes(redis: Redis): Promise<number> {
  return Number(/used_memory:(\d+)/.exec(await redis.info('memory'))?.[1]);
}

/** Mean bytes of a key that begins like this, over up to a thousand of them; 0 without any. */
export async function meanBytesOf(redis: Redis, prefix: string): Promise<number> {
  const keys = await keysOf(redis, prefix, 1000);
  // A key may expire between the two commands.
  const sizes = await Promise.all(keys.map((key) => redis.memory('USAGE', key)));
  const known = sizes.filter((size) => size !== null);
  return known.length === 0 ? 0 : known.reduce((sum, size) => sum + size, 0) / known.length;
}

export async function keysOf(redis: Redis, prefix: string, most: number): Promise<string[]> {
  const found = new Set<string>();
  let cursor = '0';
  do {
    const [next, keys] = await redis.scan(cursor, 'MATCH', `${prefix}*`, 'COUNT', 1000);
    for (const key of keys) found.add(key);
    cursor = next;
  } while (cursor !== '0' && found.size < most);
  return [...found].slice(0, most);
}
