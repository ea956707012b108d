import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Inject, Injectable } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { WALLET_REDIS } from '../platform/redis/redis.module.js';
import { redisCall, runScript, script } from '../platform/redis/redis-scripts.js';
import { WalletError } from './wallet-error.js';
import { lockKey } from './wallet-keys.js';

/** ARGV: key, token. Only its holder releases a lock. */
const UNLOCK = script(
  'wallet_unlock_name',
  `if redis.call('GET', ARGV[1]) == ARGV[2] then return redis.call('DEL', ARGV[1]) end return 0`,
);

/** ARGV: key, token, milliseconds. Only its holder renews a lock. */
const RENEW = script(
  'wallet_renew_lock',
  `if redis.call('GET', ARGV[1]) == ARGV[2] then return redis.call('PEXPIRE', ARGV[1], ARGV[3]) end return 0`,
);

/** A killed process blocks its work for this long. */
const LIFE_MS = 15_000;
const RENEW_MS = 3_000;
const ACQUIRE_TIMEOUT_MS = 30_000;
const LOOK_MS = 25;

/**
 * Serializes work on one thing across processes. It saves work and keeps order. No guarantee depends on it, because a
 * holder that is frozen or cut off from Redis can lose it.
 */
@Injectable()
export class RedisLock {
  constructor(@Inject(WALLET_REDIS) private readonly redis: Redis) {}

  /** @throws WalletError `unavailable` when it is not free within 30 s. */
  async hold<T>(name: string, task: () => Promise<T>): Promise<T> {
    const [key, token] = [lockKey(name), randomBytes(12).toString('base64url')];
    const deadline = performance.now() + ACQUIRE_TIMEOUT_MS;
    while ((await this.#take(key, token)) === null) {
      if (performance.now() > deadline) {
        throw new WalletError('unavailable', 'The same request is in progress already. Try again.');
      }
      await sleep(LOOK_MS);
    }
    const renewal = setInterval(() => {
      // The next renewal replaces a failed one, or the lock is lost.
      runScript(this.redis, RENEW, [key, token, LIFE_MS]).catch(() => undefined);
    }, RENEW_MS);
    try {
      return await task();
    } finally {
      clearInterval(renewal);
      // If this fails, the lock expires by itself.
      await runScript(this.redis, UNLOCK, [key, token]).catch(() => undefined);
    }
  }

  #take(key: string, token: string): Promise<'OK' | null> {
    return redisCall('wallet_lock', this.redis.set(key, token, 'PX', LIFE_MS, 'NX'));
  }
}
