import { Injectable } from '@nestjs/common';
import type { ScriptReply } from '../../platform/redis/redis-scripts.js';
import type {
  CooledRead,
  CooledSettlement,
  CooledSettlements,
  Parting,
} from './cooled-settlements.js';
import { recordKey } from './keys.js';
import { type LedgerAt, LedgerScripts } from './ledger-scripts.js';
import { readRecorded } from './record.js';
import { asList, asPairs, asText } from './reply.js';
import { loadScript } from './script-files.js';

const SCRIPTS = { read: loadScript('read_cooled'), part: loadScript('part_cooled') };

/** {@link CooledSettlements} in Redis. */
@Injectable()
export class RedisCooledSettlements implements CooledSettlements {
  constructor(private readonly scripts: LedgerScripts) {}

  async read(at: LedgerAt, unchangedMs: number, most: number): Promise<CooledRead> {
    const call = { script: SCRIPTS.read, keys: [], args: [unchangedMs, most] };
    const [kind, cooled] = asList(await this.scripts.runAt(at, call));
    if (kind === 'behind') return { kind };
    return { kind: 'read', cooled: asList(cooled).map((one) => readCooled(asList(one))) };
  }

  async part(at: LedgerAt, partings: readonly Parting[]): Promise<number> {
    const removed = await this.scripts.runAt(at, {
      script: SCRIPTS.part,
      keys: partings.map(({ id }) => recordKey(at.chainId, id)),
      args: partings.flatMap(({ digest, verdict }) => [digest, verdict]),
    });
    return Number(asText(removed));
  }
}

function readCooled(reply: readonly ScriptReply[]): CooledSettlement {
  const [id, details, digest] = [asText(reply[0]), asText(reply[2]), asText(reply[3])];
  try {
    return { id, digest, settlement: readRecorded(id, asPairs(reply[1]), details) };
  } catch {
    return { id, digest, settlement: undefined };
  }
}
