import type { Redis } from 'ioredis';
import { redisCall, runTransaction } from '../../../platform/redis/redis-scripts.js';
import { listKey, signerOf, workChannel } from '../keys.js';

/** Since when a lane is paused, and by whom. */
export interface LanePause {
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** Id of the API key. */
  readonly by: string;
}

/**
 * Lanes that an operator has paused. The scripts that take work and allocate nonces read the same
 * record, so a pause holds from the moment it is written, whoever has the lane, and until it is taken
 * back.
 *
 * @throws RedisUnavailableError from every method.
 */
export class LanePauses {
  constructor(
    private readonly redis: Redis,
    private readonly chainIds: readonly number[],
  ) {}

  /** By lane, `<chainId>:<signer>`. */
  async all(): Promise<ReadonlyMap<string, LanePause>> {
    const pauses = await redisCall(
      'pauses',
      Promise.all(
        this.chainIds.map(async (chainId) => {
          const all = await this.redis.hgetall(listKey(chainId, 'paused'));
          return Object.entries(all).map(
            ([signer, text]) => [`${chainId}:${signer}`, JSON.parse(text) as LanePause] as const,
          );
        }),
      ),
    );
    return new Map(pauses.flat());
  }

  /** A lane that is paused already stays paused as it is. */
  async pause(lane: string, chainId: number, pause: LanePause): Promise<void> {
    const key = listKey(chainId, 'paused');
    await redisCall('pause', this.redis.hsetnx(key, signerOf(lane), JSON.stringify(pause)));
  }

  async resume(lane: string, chainId: number): Promise<void> {
    const resuming = this.redis.multi().hdel(listKey(chainId, 'paused'), signerOf(lane));
    await runTransaction('resume', resuming.publish(workChannel(chainId), ''));
  }
}
