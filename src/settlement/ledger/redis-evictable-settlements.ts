import { Injectable } from '@nestjs/common';
import type { ScriptReply } from '../../platform/redis/redis-scripts.js';
import type {
  EvictableRead,
  EvictableSettlement,
  EvictableSettlements,
  Eviction,
} from './evictable-settlements.js';
import { recordKey } from './keys.js';
import { type LedgerAt, LedgerScripts } from './ledger-scripts.js';
import { readRecorded } from './record.js';
import { asList, asPairs, asText } from './reply.js';
import { loadScript } from './script-files.js';

const SCRIPTS = { read: loadScript('read_evictable'), evict: loadScript('evict') };

/** {@link EvictableSettlements} in Redis. */
@Injectable()
export class RedisEvictableSettlements implements EvictableSettlements {
  constructor(private readonly scripts: LedgerScripts) {}

  async read(at: LedgerAt, unchangedMs: number, most: number): Promise<EvictableRead> {
    const call = { script: SCRIPTS.read, keys: [], args: [unchangedMs, most] };
    const [kind, settlements] = asList(await this.scripts.runAt(at, call));
    if (kind === 'behind') return { kind };
    return {
      kind: 'read',
      settlements: asList(settlements).map((one) => readEvictable(asList(one))),
    };
  }

  async evict(at: LedgerAt, evictions: readonly Eviction[]): Promise<number> {
    const removed = await this.scripts.runAt(at, {
      script: SCRIPTS.evict,
      keys: evictions.map(({ id }) => recordKey(at.chainId, id)),
      args: evictions.flatMap(({ digest, verdict }) => [digest, verdict]),
    });
    return Number(asText(removed));
  }
}

function readEvictable(reply: readonly ScriptReply[]): EvictableSettlement {
  const [id, details, digest] = [asText(reply[0]), asText(reply[2]), asText(reply[3])];
  try {
    return { id, digest, settlement: readRecorded(id, asPairs(reply[1]), details) };
  } catch {
    return { id, digest, settlement: undefined };
  }
}
