import { describe, expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import type { RedisLock } from '../redis-lock.js';
import type { RecordSeal } from '../seal/record-seal.js';
import { WalletError } from '../wallet-error.js';
import type { WalletRedisRoom } from '../wallet-redis-room.js';
import { ReplyStore } from './reply-store.js';

const WALLET = '0x1111111111111111111111111111111111111111';

describe('replies by idempotency key', () => {
  it('are kept while there is room; those that are kept are given beyond that', async () => {
    const kept = new Map<string, string>();
    const redis = {
      get: (key: string) => Promise.resolve(kept.get(key) ?? null),
      set: (key: string, value: string) => {
        kept.set(key, value);
        return Promise.resolve('OK');
      },
    };
    const locks = { hold: (_: string, task: () => Promise<unknown>) => task() };
    const seal = {
      seal: (_: string, text: string) => text,
      open: (_: string, text: string) => text,
    };
    const full = new WalletError('unavailable', 'full');
    let isFull = false;
    const store = new ReplyStore(
      redis as unknown as Redis,
      locks as unknown as RedisLock,
      seal as unknown as RecordSeal,
      {
        assertForRecord: () => (isFull ? Promise.reject(full) : Promise.resolve()),
      } as unknown as WalletRedisRoom,
    );
    let signed = 0;
    const reply = (key: string) =>
      store.once(WALLET, key, { method: 'personal_sign' }, () =>
        Promise.resolve({ at: (signed += 1) }),
      );
    expect(await reply('one')).toEqual({ at: 1 });
    isFull = true;
    expect(await reply('one')).toEqual({ at: 1 });
    await expect(reply('two')).rejects.toBe(full);
    expect(signed).toBe(1);
    expect(kept.size).toBe(1);
  });
});
