import { type Address, isAddress } from 'viem';
import type { LedgerConnections } from '../../../platform/redis/ledger-connections.js';
import { redisCall } from '../../../platform/redis/redis-scripts.js';
import { listKey, signerOf } from '../keys.js';

/**
 * The signers that ever had an attempt on a chain, as far as this ledger goes back.
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
