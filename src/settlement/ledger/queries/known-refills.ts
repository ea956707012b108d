import { type Address, type Hex, isHex } from 'viem';
import type { LedgerConnections } from '../../../platform/redis/ledger-connections.js';
import { redisCall } from '../../../platform/redis/redis-scripts.js';
import { decodeAttempt } from '../../model/attempt.js';
import { laneAttemptsKey, laneRefillsKey } from '../keys.js';

/** Hashes by account, and by account nonce. At most one transaction of a nonce is mined. */
export type KnownRefills = ReadonlyMap<Address, ReadonlyMap<number, readonly Hex[]>>;

/**
 * Refills of treasuries, final or in flight. A transfer of native coins has no log, so a search on the chain cannot
 * find it. The list is a hint: the chain decides what a transaction did.
 *
 * @throws RedisUnavailableError
 */
export async function knownRefills(
  ledger: LedgerConnections,
  chainId: number,
  lanes: readonly Address[],
): Promise<KnownRefills> {
  const read = await Promise.all(
    lanes.map(async (address): Promise<[Address, ReadonlyMap<number, readonly Hex[]>]> => {
      const lane = `${chainId}:${address}`;
      const redis = ledger.of(chainId);
      const [final, underWay] = await redisCall(
        'refills',
        Promise.all([
          redis.hgetall(laneRefillsKey(chainId, lane)),
          redis.hvals(laneAttemptsKey(chainId, lane)),
        ]),
      );
      const sent = underWay
        .map(decodeAttempt)
        .filter(({ kind }) => kind === 'refill')
        .map(
          ({ accountNonce, transactions }) =>
            [accountNonce, transactions.map(({ hash }) => hash)] as const,
        );
      const done = Object.entries(final).map(
        ([nonce, hashes]) => [Number(nonce), hashes.split(',').filter(isHash)] as const,
      );
      return [address, new Map([...done, ...sent])];
    }),
  );
  return new Map(read.filter(([, refills]) => refills.size > 0));
}

function isHash(text: string): text is Hex {
  return text.length === 66 && isHex(text);
}
