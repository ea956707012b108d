import { describe, expect, it } from '@jest/globals';
import type { SharedRedis } from './ledger-connections.js';
import { OWNERS_SHARE_MAX, RedisRoom } from './redis-room.js';

const MIB = 1_048_576;

function redisWith(usedBytes: number, maxBytes: number): SharedRedis {
  const info = `used_memory:${usedBytes}\r\nmaxmemory:${maxBytes}\r\n`;
  return {
    info: () => Promise.resolve(info),
    config: () => Promise.resolve([]),
  } as unknown as SharedRedis;
}

describe('room in a Redis', () => {
  it('ends at four fifths, and for owners and agents a twentieth before the end', async () => {
    const redis = redisWith(80 * MIB, 100 * MIB);
    expect(await new RedisRoom(redis).use(1)).toBe(false);
    const owners = new RedisRoom(redis, OWNERS_SHARE_MAX);
    expect(await owners.use(15 * MIB)).toBe(true);
    expect(await owners.use(1)).toBe(false);
  });

  it('has no end without a limit of its memory', async () => {
    expect(await new RedisRoom(redisWith(80 * MIB, 0)).use(1000 * MIB)).toBe(true);
  });
});
