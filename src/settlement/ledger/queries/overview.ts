import type { Redis } from 'ioredis';
import type { Address } from 'viem';
import { type Attempt, decodeAttempt } from '../../model/attempt.js';
import { redisCall } from '../../../platform/redis/redis-scripts.js';
import { laneAttemptsKey, listKey, payerKey } from '../keys.js';

/** The work of one chain that is not finished. */
export interface QueueView {
  /** Claimed, nothing signed yet. */
  readonly queued: number;
  /** Milliseconds since the oldest of them was claimed; 0 when there is none. */
  readonly oldestQueuedMs: number;
  /** Queued, sent, or included and not final. */
  readonly unfinished: number;
}

/**
 * The ledger as an operator looks at it. Every read is bounded.
 *
 * @throws RedisUnavailableError from every method.
 */
export class LedgerOverview {
  constructor(private readonly redis: Redis) {}

  async queue(chainId: number): Promise<QueueView> {
    const [queued, oldest, unfinished, [seconds]] = await redisCall(
      'queue',
      Promise.all([
        this.redis.zcard(listKey(chainId, 'queued')),
        this.redis.zrange(listKey(chainId, 'queued'), '0', '0', 'WITHSCORES'),
        this.redis.zcard(listKey(chainId, 'live')),
        this.redis.time(),
      ]),
    );
    // Claims are dated by the clock of Redis, which need not be ours.
    const now = Number(seconds) * 1000;
    const claimedAt = Number(oldest[1] ?? now);
    return { queued, oldestQueuedMs: Math.max(0, now - claimedAt), unfinished };
  }

  /** By account nonce. */
  async attempts(chainId: number, lane: string): Promise<readonly Attempt[]> {
    const texts = await redisCall('attempts', this.redis.hvals(laneAttemptsKey(chainId, lane)));
    return texts.map(decodeAttempt).sort((a, b) => a.accountNonce - b.accountNonce);
  }

  /** Settlement ids, newest first; some may be refused and gone since. */
  newest(chainId: number, most: number): Promise<readonly string[]> {
    return redisCall('newest', this.redis.zrevrange(listKey(chainId, 'newest'), 0, most - 1));
  }

  newestOfPayer(chainId: number, payer: Address, most: number): Promise<readonly string[]> {
    return redisCall('newest', this.redis.zrevrange(payerKey(chainId, payer), 0, most - 1));
  }
}
