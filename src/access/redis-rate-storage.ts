import type { Redis } from 'ioredis';
import { runScript, script } from '../redis/redis-scripts.js';

/**
 * Counts one request of a caller by the generic cell rate algorithm: the key holds the moment at which
 * all requests so far will have been worked off at the steady rate. A request is let in while that
 * moment is at most one second away, so as many as the rate may come at once, and never twice as many
 * around the turn of a second.
 *
 * | ARGV | |
 * |---|---|
 * | 1 | key |
 * | 2 | requests a second |
 *
 * Returns {1 when refused, requests counted against the rate, seconds until none is, seconds until the
 * next is let in}. A refused request is not counted.
 */
const COUNT = script(
  'countRequest',
  String.raw`
local second = 1000000
local rate = tonumber(ARGV[2])
local t = redis.call('TIME')
local now = t[1] * second + t[2]
local free_at = math.max(now, tonumber(redis.call('GET', ARGV[1]) or '0'))
local next_free_at = free_at + second / rate
if next_free_at - now > second + 1 then
  return { 1, rate, math.ceil((free_at - now) / second), math.ceil((next_free_at - now - second) / second) }
end
redis.call('SET', ARGV[1], string.format('%.0f', next_free_at), 'PX', math.ceil((next_free_at - now) / 1000))
return { 0, math.ceil((next_free_at - now) * rate / second - 0.01), math.ceil((next_free_at - now) / second), 0 }
`,
);

/** What the throttler wants to know of a request; times in seconds. */
interface Counted {
  readonly totalHits: number;
  readonly timeToExpire: number;
  readonly isBlocked: boolean;
  readonly timeToBlockExpire: number;
}

/** The counts of all processes together. Each is a key that is gone a second after its last use. */
export class RedisRateStorage {
  constructor(private readonly redis: Redis) {}

  /**
   * @param _ttl - one second, always: the rates are by the second.
   * @throws LedgerUnavailableError
   */
  async increment(key: string, _ttl: number, limit: number): Promise<Counted> {
    const reply = await runScript(this.redis, COUNT, [key, limit]);
    const [refused = 0, counted = 0, emptyIn = 0, retryIn = 0] = reply as readonly number[];
    return {
      totalHits: counted,
      timeToExpire: emptyIn,
      isBlocked: refused === 1,
      timeToBlockExpire: Math.max(1, retryIn),
    };
  }
}
