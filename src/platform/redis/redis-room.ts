import { Headroom } from '../concurrency/headroom.js';
import type { SharedRedis } from './ledger-connections.js';
import { setUpOf } from './redis-watch.js';

/** Of the memory Redis may use; what is above is for settlements, and for what owners and their agents do. */
const SHARE_MAX = 0.8;
/** Redis is asked no more often. */
const MEASURE_KEPT_MS = 1000;

/** Bytes of a Redis that may still be used for what has to give way to others. */
export class RedisRoom extends Headroom {
  constructor(redis: SharedRedis) {
    super(() => roomIn(redis), MEASURE_KEPT_MS);
  }
}

/** `undefined` where Redis does not say, or has no limit. */
async function roomIn(redis: SharedRedis): Promise<number | undefined> {
  // The next write reports that it does not answer.
  const setUp = await setUpOf(redis).catch(() => undefined);
  const { usedMemoryBytes, maxMemoryBytes = 0 } = setUp ?? {};
  if (usedMemoryBytes === undefined || maxMemoryBytes === 0) return undefined;
  return maxMemoryBytes * SHARE_MAX - usedMemoryBytes;
}
