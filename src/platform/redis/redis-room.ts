import { Headroom } from '../concurrency/headroom.js';
import type { SharedRedis } from './ledger-connections.js';
import { setUpOf } from './redis-watch.js';

/** The share of the memory for data that must give way. The rest is reserved for settlements, owners and agents. */
const SHARE_MAX = 0.8;
/** How long a measurement of Redis is used. */
const MEASURE_KEPT_MS = 1000;

/** Free bytes in a Redis for data that must give way to other data. */
export class RedisRoom extends Headroom {
  constructor(redis: SharedRedis) {
    super(() => roomIn(redis), MEASURE_KEPT_MS);
  }
}

/** `undefined` if Redis does not report its memory, or has no limit. */
async function roomIn(redis: SharedRedis): Promise<number | undefined> {
  // The next write reports the outage.
  const setUp = await setUpOf(redis).catch(() => undefined);
  const { usedMemoryBytes, maxMemoryBytes = 0 } = setUp ?? {};
  if (usedMemoryBytes === undefined || maxMemoryBytes === 0) return undefined;
  return maxMemoryBytes * SHARE_MAX - usedMemoryBytes;
}
