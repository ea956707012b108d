import { Headroom } from '../concurrency/headroom.js';
import type { SharedRedis } from './ledger-connections.js';
import { setUpOf } from './redis-watch.js';

/** The share of the memory for data that must give way. The rest is reserved for settlements, owners and agents. */
const SHARE_MAX = 0.8;
/**
 * The share for data of owners and agents, which anybody can become. Without the rest no owner could stop a wallet, and
 * no payment that was made could be recorded.
 */
export const OWNERS_SHARE_MAX = 0.95;
/** How long a measurement of Redis is used. */
const MEASURE_KEPT_MS = 1000;

/** Free bytes in a Redis for data that must give way to other data. */
export class RedisRoom extends Headroom {
  /** @param share - of the memory, up to which there is room. */
  constructor(redis: SharedRedis, share = SHARE_MAX) {
    super(() => roomIn(redis, share), MEASURE_KEPT_MS);
  }
}

/** `undefined` if Redis does not report its memory, or has no limit. */
async function roomIn(redis: SharedRedis, share: number): Promise<number | undefined> {
  // The next write reports the outage.
  const setUp = await setUpOf(redis).catch(() => undefined);
  const { usedMemoryBytes, maxMemoryBytes = 0 } = setUp ?? {};
  if (usedMemoryBytes === undefined || maxMemoryBytes === 0) return undefined;
  return maxMemoryBytes * share - usedMemoryBytes;
}
