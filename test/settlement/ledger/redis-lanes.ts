import type { LaneLedger } from '../../../src/settlement/ledger/lane-store.js';
import type { LedgerScripts } from '../../../src/settlement/ledger/ledger-scripts.js';
import {
  RedisLaneAttempts,
  RedisLaneEndings,
  RedisLaneLeases,
  RedisLaneQueue,
} from '../../../src/settlement/ledger/redis-lane-store.js';
import type { SettlementArchive } from '../../../src/settlement/ledger/settlement-archive.js';
import type { LedgerLifetimes } from '../../../src/settlement/ledger/settlement-store.js';

/** The ledger as lanes use it, in Redis. */
export function redisLanes(
  scripts: LedgerScripts,
  lifetimes: LedgerLifetimes & { readonly unclaimedAfterMs: number },
  archive?: SettlementArchive,
): LaneLedger {
  return {
    leases: new RedisLaneLeases(scripts, lifetimes, archive),
    queue: new RedisLaneQueue(scripts, lifetimes),
    attempts: new RedisLaneAttempts(scripts, lifetimes),
    endings: new RedisLaneEndings(scripts, lifetimes),
  };
}
