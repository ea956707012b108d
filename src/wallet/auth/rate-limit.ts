import type { Redis } from 'ioredis';
import { ledgerCall } from '../../redis/redis-scripts.js';
import { WalletError } from '../wallet-error.js';
import { rateKey } from '../wallet-keys.js';

const MINUTE_SECONDS = 60;

/** Requests a minute, counted for all processes together. */
export class RateLimit {
  constructor(
    private readonly redis: Redis,
    private readonly perMinute: number,
    private readonly now: () => number,
  ) {}

  /** @throws WalletError `rate_limited` with the seconds to wait. */
  async count(bucket: string): Promise<void> {
    const now = this.now();
    const key = rateKey(bucket, Math.floor(now / MINUTE_SECONDS));
    const counted = this.redis
      .multi()
      .incr(key)
      .expire(key, 2 * MINUTE_SECONDS)
      .exec();
    const results = await ledgerCall('wallet_rate', counted);
    if (Number(results?.[0]?.[1] ?? 0) <= this.perMinute) return;
    const retryAfterSeconds = MINUTE_SECONDS - (now % MINUTE_SECONDS);
    throw new WalletError('rate_limited', 'Too many requests.', { retryAfterSeconds });
  }
}
