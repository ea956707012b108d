import type { Redis } from 'ioredis';
import { runScript, script } from '../../redis/redis-scripts.js';
import { rateKey } from '../index/keys.js';

/** How many requests may come at once after a pause, in seconds' worth of the rate. */
const BURST_SECONDS = 2;

export interface RateVerdict {
  readonly isAllowed: boolean;
  /** Requests that may come at once. */
  readonly limit: number;
  readonly remaining: number;
  /** Seconds until the full burst is free again. */
  readonly resetSeconds: number;
  /** Seconds until the next request is allowed; 0 when it is now. */
  readonly retryAfterSeconds: number;
}

/**
 * The generic cell rate algorithm: one time per subject, the moment its burst is free again. Redis's own
 * clock counts, so that all processes agree.
 *
 * | ARGV | |
 * |---|---|
 * | 1 | key |
 * | 2 | microseconds a request takes |
 * | 3 | requests of a burst |
 *
 * Returns {1 when allowed, microseconds until the burst is free again}.
 */
const TAKE = script(
  'hub rate',
  String.raw`
local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2]
local each, burst = tonumber(ARGV[2]), tonumber(ARGV[3])
local free = math.max(now, tonumber(redis.call('GET', ARGV[1]) or '0'))
if free - now + each > each * burst then return { 0, free - now } end
free = free + each
redis.call('SET', ARGV[1], string.format('%.0f', free), 'PX', math.ceil((free - now) / 1000))
return { 1, free - now }
`,
);

const MICROSECONDS = 1_000_000;

/** Requests a second, of any subject: an owner, an address. */
export class RateLimiter {
  readonly #each: number;
  readonly #burst: number;

  constructor(
    private readonly redis: Redis,
    ratePerSecond: number,
  ) {
    this.#each = Math.ceil(MICROSECONDS / ratePerSecond);
    this.#burst = ratePerSecond * BURST_SECONDS;
  }

  /** @throws LedgerUnavailableError when Redis cannot be asked. */
  async take(subject: string): Promise<RateVerdict> {
    const args = [rateKey(subject), this.#each, this.#burst];
    const reply = await runScript(this.redis, TAKE, args);
    const [allowed, busy] = (reply as readonly number[]).map(Number);
    const busyMicros = busy ?? 0;
    const isAllowed = allowed === 1;
    const wait = busyMicros + this.#each - this.#each * this.#burst;
    return {
      isAllowed,
      limit: this.#burst,
      remaining: Math.max(0, this.#burst - Math.ceil(busyMicros / this.#each)),
      resetSeconds: Math.ceil(busyMicros / MICROSECONDS),
      retryAfterSeconds: isAllowed ? 0 : Math.max(1, Math.ceil(wait / MICROSECONDS)),
    };
  }
}
