import type { Redis } from 'ioredis';
import { redisCall, runTransaction } from '../../../platform/redis/redis-scripts.js';
import { listKey, signerOf, workChannel } from '../keys.js';
import type { LaneSwitch, SwitchedBy } from './lane-queries.js';

/**
 * Pauses and retires lanes for an operator. The scripts that take work and allocate nonces read the same
 * record, so that it holds from the moment it is written, whoever has the lane, and until it is taken back.
 *
 * @throws RedisUnavailableError from every method.
 */
export class LaneSwitches {
  constructor(private readonly redis: Redis) {}

  /** What is switched already stays as it is. */
  async set(which: LaneSwitch, lane: string, chainId: number, by: SwitchedBy): Promise<void> {
    const key = listKey(chainId, which);
    await redisCall(which, this.redis.hsetnx(key, signerOf(lane), JSON.stringify(by)));
  }

  async clear(which: LaneSwitch, lane: string, chainId: number): Promise<void> {
    const clearing = this.redis.multi().hdel(listKey(chainId, which), signerOf(lane));
    await runTransaction(`no longer ${which}`, clearing.publish(workChannel(chainId), ''));
  }
}
