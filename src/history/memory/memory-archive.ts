import type { LedgerAt } from '../../settlement/ledger/ledger-scripts.js';
import type { Change } from '../../settlement/ledger/outbox.js';
import { type Archive, ArchiveError, type Stored } from '../archive.js';
import { rowOf, type SettlementRow } from '../settlement-row.js';

/** Where the next call of `store` fails: before anything is written, or after it was. */
type Failure = 'before commit' | 'after commit';

/** {@link Archive} in memory, which fails where a test wants it to. */
export class MemoryArchive implements Archive {
  readonly rows = new Map<string, SettlementRow>();
  readonly unreadable: Change[] = [];
  readonly #epochs: string[] = [];
  failsNext: Failure | undefined;
  isAway = false;
  opened = 0;

  open(): Promise<void> {
    if (this.isAway) return Promise.reject(away());
    this.opened += 1;
    return Promise.resolve();
  }

  epochNumber({ chainId, epoch }: LedgerAt): Promise<number> {
    if (this.isAway) return Promise.reject(away());
    const name = `${chainId} ${epoch}`;
    if (!this.#epochs.includes(name)) this.#epochs.push(name);
    return Promise.resolve(this.#epochs.indexOf(name) + 1);
  }

  store(chainId: number, epoch: number, changes: readonly Change[]): Promise<Stored> {
    const failure = this.failsNext;
    this.failsNext = undefined;
    if (this.isAway || failure === 'before commit') return Promise.reject(away());
    let [written, stale, unreadable] = [0, 0, 0];
    for (const change of changes) {
      if (change.kind === 'unreadable') {
        this.unreadable.push(change);
        unreadable += 1;
        continue;
      }
      const row = rowOf(chainId, epoch, change);
      const known = this.rows.get(change.id);
      if (known !== undefined && !isOlder(known, row)) {
        stale += 1;
        continue;
      }
      this.rows.set(change.id, { ...row, claimed_at: known?.claimed_at ?? row.claimed_at });
      written += 1;
    }
    if (failure === 'after commit') return Promise.reject(away());
    return Promise.resolve({ written, stale, expired: 0, unreadable });
  }

  upkeep(): Promise<void> {
    return this.isAway ? Promise.reject(away()) : Promise.resolve();
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

function isOlder(a: SettlementRow, b: SettlementRow): boolean {
  const order = (row: SettlementRow) => [row.epoch, row.version_ms, row.version_sequence];
  const [older, newer] = [order(a), order(b)];
  const at = older.findIndex((value, index) => value !== newer[index]);
  return at >= 0 && (older[at] ?? 0) < (newer[at] ?? 0);
}

const away = () => new ArchiveError('database_unreachable', 'ECONNREFUSED');
