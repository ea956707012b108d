import { describe, expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import { RateLimiter } from './rate-limiter.js';

/** Answers each script call with what a test wants, and keeps the arguments. */
function fakeRedis(reply: readonly number[]): { redis: Redis; calls: unknown[][] } {
  const calls: unknown[][] = [];
  const redis = {
    evalsha: (...args: unknown[]) => {
      calls.push(args);
      return Promise.resolve(reply);
    },
  };
  return { redis: redis as unknown as Redis, calls };
}

const RATE = { requests: 120, seconds: 60, burst: 10 };

describe('the limiter of all doors', () => {
  it('counts by door and caller, in microseconds a request', async () => {
    const { redis, calls } = fakeRedis([1, 500_000]);
    const verdict = await new RateLimiter(redis, 'wallet').take('ip:2001:db8:0:1::/64', RATE);
    expect(calls[0]?.slice(2)).toEqual(['x402:rl:wallet:ip:2001:db8:0:1::/64', 500_000, 10, 1]);
    expect(verdict).toEqual({
      isAllowed: true,
      limit: 10,
      remaining: 9,
      resetSeconds: 1,
      retryAfterSeconds: 0,
    });
  });

  it('says when the next request is let in', async () => {
    const { redis } = fakeRedis([0, 4_900_000]);
    const verdict = await new RateLimiter(redis, 'wallet').take('key:shop', RATE);
    expect(verdict).toEqual({
      isAllowed: false,
      limit: 10,
      remaining: 0,
      resetSeconds: 5,
      retryAfterSeconds: 1,
    });
  });

  it('counts one request for many, and says when there is room for all of it', async () => {
    const { redis, calls } = fakeRedis([0, 4_500_000]);
    const verdict = await new RateLimiter(redis, 'wallet').take('key:shop', RATE, 4);
    expect(calls[0]?.slice(3)).toEqual([500_000, 10, 4]);
    expect(verdict).toMatchObject({ isAllowed: false, retryAfterSeconds: 2 });
  });

  it.each([['x'.repeat(1_000_000)], ['owner:\r\nSET'], ['é'], ['']])(
    'keeps a short key for a caller of any length and content',
    async (caller) => {
      const { redis, calls } = fakeRedis([1, 0]);
      await new RateLimiter(redis, 'hub').take(caller, RATE);
      expect(calls[0]?.[2]).toMatch(/^x402:rl:hub:#[\w-]{43}$/);
    },
  );
});
