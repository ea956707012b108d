import { createHash } from 'node:crypto';
import type { SharedRedis } from '../redis/ledger-connections.js';
import { runKeyedScript, script } from '../redis/redis-scripts.js';

/** The allowed rate of a caller. */
export interface Rate {
  /** Requests per `seconds`, on average. */
  readonly requests: number;
  readonly seconds: number;
  /** Requests at once after a pause. */
  readonly burst: number;
}

export interface RateVerdict {
  readonly isAllowed: boolean;
  /** The burst. */
  readonly limit: number;
  readonly remaining: number;
  /** Seconds until the full burst is available again. */
  readonly resetSeconds: number;
  /** Seconds until the next request is allowed; 0 if this one was. */
  readonly retryAfterSeconds: number;
}

/** Headers with the rate of the caller, also for refused requests. */
export function limitHeaders({
  limit,
  remaining,
  resetSeconds,
}: RateVerdict): Readonly<Record<string, number>> {
  return {
    'RateLimit-Limit': limit,
    'RateLimit-Remaining': remaining,
    'RateLimit-Reset': resetSeconds,
  };
}

/**
 * The generic cell rate algorithm: a key holds the moment at which the caller's burst is free again.
 * Redis's own clock counts, so that all processes agree. A request that is refused is not counted.
 *
 * | KEYS, ARGV | |
 * |---|---|
 * | KEYS 1 | the caller's |
 * | 1 | microseconds a request takes |
 * | 2 | requests of a burst |
 * | 3 | requests that this one counts for |
 *
 * Returns {1 when allowed, microseconds until the burst is free again}.
 */
const TAKE = script(
  'rate_limit',
  String.raw`
local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2]
local each, burst = tonumber(ARGV[1]), tonumber(ARGV[2])
local wanted = each * tonumber(ARGV[3])
local free = math.max(now, tonumber(redis.call('GET', KEYS[1]) or '0'))
if free - now + wanted > each * burst + 1 then return { 0, free - now } end
free = free + wanted
redis.call('SET', KEYS[1], string.format('%.0f', free), 'PX', math.ceil((free - now) / 1000))
return { 1, free - now }
`,
);

const KEY_PREFIX = 'x402:rl:';
const MICROSECONDS = 1_000_000;
/** Addresses and ids are within this form. */
const PLAIN_CALLER = /^[\w.:/-]{1,80}$/;

/**
 * Counts requests by caller, for all processes together: at every door of the service, each with keys
 * of its own. A caller costs one short key, which is gone as soon as its full burst is free again.
 *
 * | key | type | lifetime | holds |
 * |---|---|---|---|
 * | `x402:rl:<door>:<caller>` | string | until the burst is free | that moment, microseconds |
 */
export class RateLimiter {
  /** @param door - separates the limits of different entries of the service. */
  constructor(
    private readonly redis: SharedRedis,
    private readonly door: string,
  ) {}

  /**
   * Counts a request, unless it is refused.
   *
   * @param caller - any text; a long or unusual one is replaced by its hash.
   * @param amount - the number of requests it counts for; if bytes are limited, the number of bytes.
   * @throws RedisUnavailableError if Redis does not answer; the request may have been counted.
   */
  async take(caller: string, { requests, seconds, burst }: Rate, amount = 1): Promise<RateVerdict> {
    const each = Math.ceil((MICROSECONDS * seconds) / requests);
    const reply = await runKeyedScript(
      this.redis,
      TAKE,
      [this.#keyOf(caller)],
      [each, burst, amount],
    );
    const [allowed, busy = 0] = (reply as readonly number[]).map(Number);
    const isAllowed = allowed === 1;
    const waitMicros = busy + each * amount - each * burst;
    return {
      isAllowed,
      limit: burst,
      remaining: isAllowed ? Math.max(0, burst - Math.ceil(busy / each)) : 0,
      resetSeconds: Math.ceil(busy / MICROSECONDS),
      retryAfterSeconds: isAllowed ? 0 : Math.max(1, Math.ceil(waitMicros / MICROSECONDS)),
    };
  }

  #keyOf(caller: string): string {
    const name = PLAIN_CALLER.test(caller)
      ? caller
      : `#${createHash('sha256').update(caller).digest('base64url')}`;
    return `${KEY_PREFIX}${this.door}:${name}`;
  }
}
