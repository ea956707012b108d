import type { Redis } from 'ioredis';
import { redisCall } from '../../../platform/redis/redis-scripts.js';
import { listKey, recordKey } from '../keys.js';

/** The queue of one chain, as the ledger counts it. */
export interface QueueStatus {
  readonly chainId: number;
  /** Settlements that wait to be signed. */
  readonly depth: number;
  /** Milliseconds the longest-waiting of them has waited; 0 when none does. */
  readonly oldestMs: number;
  /** Settlements that are not finished: those that wait, and those on their way to finality. */
  readonly live: number;
}

/** Reads what waits, by the clock of Redis, which also stamped it. */
export class QueueBoard {
  constructor(private readonly redis: Redis) {}

  /** @throws RedisUnavailableError */
  read(chainIds: readonly number[]): Promise<readonly QueueStatus[]> {
    return redisCall('queues', this.#read(chainIds));
  }

  async #read(chainIds: readonly number[]): Promise<readonly QueueStatus[]> {
    const [time, ...counts] = await Promise.all([
      this.redis.time(),
      ...chainIds.map((chainId) =>
        Promise.all([
          this.redis.zcard(listKey(chainId, 'queued')),
          this.redis.zrange(listKey(chainId, 'queued'), '0', '0', 'WITHSCORES'),
          this.redis.zcard(listKey(chainId, 'live')),
        ]),
      ),
    ]);
    const now = Number(time[0]) * 1000 + Number(time[1]) / 1000;
    return counts.map(([depth, [, oldest], live], index) => ({
      chainId: chainIds[index] ?? 0,
      depth,
      oldestMs: oldest === undefined ? 0 : Math.max(0, Math.round(now - Number(oldest))),
      live,
    }));
  }

  /**
   * How long settlements waited from their claim until their first transaction was stored, in
   * milliseconds. Those that are finished by now are missing from the result.
   *
   * @throws RedisUnavailableError
   */
  async waitsMs(chainId: number, ids: readonly string[]): Promise<readonly number[]> {
    const times = await redisCall(
      'waits',
      Promise.all(
        ids.map((id) => this.redis.hmget(recordKey(chainId, id), 't_claimed', 't_allocated')),
      ),
    );
    return times.flatMap(([claimed, allocated]) =>
      claimed == null || allocated == null ? [] : [Number(allocated) - Number(claimed)],
    );
  }
}
