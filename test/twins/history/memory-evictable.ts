import { LedgerEpochChangedError } from '../../../src/protocol/errors.js';
import type {
  EvictableRead,
  EvictableSettlements,
  Eviction,
} from '../../../src/settlement/ledger/evictable-settlements.js';
import type { LedgerAt } from '../../../src/settlement/ledger/ledger-scripts.js';
import type { RecordedSettlement } from '../../../src/settlement/model/recorded-settlement.js';

interface Held {
  readonly settlement: RecordedSettlement | undefined;
  readonly changes: number;
}

/** {@link EvictableSettlements} of one chain in memory: every settlement that a test puts there is evictable. */
export class MemoryEvictable implements EvictableSettlements {
  readonly held = new Map<string, Held>();
  readonly evictable = new Set<string>();
  epoch = 'first';
  isBehind = false;
  /** Done between what is read and what is removed. */
  meanwhile: () => void = () => undefined;

  put(id: string, settlement: RecordedSettlement | undefined): void {
    this.held.set(id, { settlement, changes: (this.held.get(id)?.changes ?? 0) + 1 });
    this.evictable.add(id);
  }

  read(at: LedgerAt, _unchangedMs: number, most: number): Promise<EvictableRead> {
    if (at.epoch !== this.epoch) return Promise.reject(new LedgerEpochChangedError('read'));
    if (this.isBehind) return Promise.resolve({ kind: 'behind' });
    const settlements = [...this.evictable].slice(0, most).flatMap((id) => {
      const held = this.held.get(id);
      return held ? [{ id, digest: String(held.changes), settlement: held.settlement }] : [];
    });
    return Promise.resolve({ kind: 'read', settlements });
  }

  evict(at: LedgerAt, partings: readonly Eviction[]): Promise<number> {
    this.meanwhile();
    if (at.epoch !== this.epoch) return Promise.reject(new LedgerEpochChangedError('part'));
    let removed = 0;
    for (const { id, digest, verdict } of partings) {
      if (String(this.held.get(id)?.changes) !== digest) continue;
      if (verdict !== 'later') this.evictable.delete(id);
      if (verdict !== 'leaves') continue;
      this.held.delete(id);
      removed += 1;
    }
    return Promise.resolve(removed);
  }
}
