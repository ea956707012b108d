import type { Redis } from 'ioredis';
import { redisCall, runTransaction } from '../../../platform/redis/redis-scripts.js';
import { listKey, signerOf, workChannel } from '../keys.js';
import type { LanePause } from './lane-queries.js';

/**
 * Pauses lanes for an operator. The scripts that take work and allocate nonces read the same record, so
 * a pause holds from the moment it is written, whoever has the lane, and until it is taken back.
 *
 * @throws RedisUnavailableError from every method.
 */
export class LanePauses {
  constructor(private readonly redis: Redis) {}

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
