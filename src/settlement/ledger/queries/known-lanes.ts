import { type Address, isAddress } from 'viem';
import type { LedgerConnections } from '../../../platform/redis/ledger-connections.js';
import { redisCall } from '../../../platform/redis/redis-scripts.js';
import { listKey, signerOf } from '../keys.js';

/**
 * All signers with an attempt in this ledger.
 *
 * @throws RedisUnavailableError
 */
export async function knownLanes(
  ledger: LedgerConnections,
  chainId: number,
): Promise<readonly Address[]> {
  const lanes = await redisCall('lanes', ledger.of(chainId).smembers(listKey(chainId, 'lanes')));
  return lanes
    .map((lane) => signerOf(lane).toLowerCase())
    .filter((signer) => isAddress(signer, { strict: false }));
}
