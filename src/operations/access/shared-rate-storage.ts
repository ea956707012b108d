import type { RateLimiter } from '../../platform/rate-limit/rate-limiter.js';

/** What the throttler wants to know of a request; times in seconds. */
interface Counted {
  readonly totalHits: number;
  readonly timeToExpire: number;
  readonly isBlocked: boolean;
  readonly timeToBlockExpire: number;
}

/** The limiter of all doors, in the throttler's terms. */
export class SharedRateStorage {
  constructor(private readonly limiter: RateLimiter) {}

  /**
   * @param _ttl - one second, always: the rates are by the second, and so is the burst.
   * @throws RedisUnavailableError
   */
  async increment(caller: string, _ttl: number, limit: number): Promise<Counted> {
    const verdict = await this.limiter.take(caller, { requests: limit, seconds: 1, burst: limit });
    return {
      totalHits: limit - verdict.remaining,
      timeToExpire: verdict.resetSeconds,
      isBlocked: !verdict.isAllowed,
      timeToBlockExpire: verdict.retryAfterSeconds,
    };
  }
}
