import type { Redis } from 'ioredis';
import { type Address, isAddress } from 'viem';
import { redisCall } from '../../../platform/redis/redis-scripts.js';
import { listKey, signerOf } from '../keys.js';

/**
 * The signers that ever had an attempt on a chain, as far as this ledger goes back.
 *
 * @throws RedisUnavailableError
 */
export async function knownLanes(redis: Redis, chainId: number): Promise<readonly Address[]> {
  const lanes = await redisCall('lanes', redis.smembers(listKey(chainId, 'lanes')));
  return lanes
    .map((lane) => signerOf(lane).toLowerCase())
    .filter((signer) => isAddress(signer, { strict: false }));
}
