import { type Archive, ArchiveError, type Stored } from '../../../src/history/archive.js';
import type { ArchiveReader } from '../../../src/history/archive-reader.js';
import { settlementOfRow } from '../../../src/history/archived-row.js';
import { monthOf, oldestKept } from '../../../src/history/postgres/partitions.js';
import { LASTING_COLUMNS, rowOf, type SettlementRow } from '../../../src/history/settlement-row.js';
import type { LedgerAt } from '../../../src/settlement/ledger/ledger-scripts.js';
import type { Change } from '../../../src/settlement/ledger/outbox.js';
import type {
  ArchivedSettlement,
  ArchiveQuery,
} from '../../../src/settlement/ledger/settlement-archive.js';
import { foundBy } from '../../builders/settlement/ledger/settlement-archive.js';

/** Where the next call of `store` fails: before anything is written, or after it was. */
type Failure = 'before commit' | 'after commit';

interface MemoryArchiveOptions {
  /** Months kept beside the current one; `undefined` keeps all. */
  readonly months: number | undefined;
  readonly now: () => number;
}

/** {@link Archive} in memory, which fails where a test wants it to. */
export class MemoryArchive implements Archive {
  readonly unreadable: Change[] = [];
  readonly #epochs: string[] = [];
  failsNext: Failure | undefined;
  isAway = false;
  opened = 0;

  constructor(
    private readonly options: MemoryArchiveOptions = { months: undefined, now: () => 0 },
    /** By id; another archive may have the same. */
    readonly rows = new Map<string, SettlementRow>(),
  ) {}

  open(): Promise<void> {
    if (this.isAway) return Promise.reject(away());
    this.opened += 1;
    return Promise.resolve();
  }

  epochNumber({ chainId, epoch }: Pick<LedgerAt, 'chainId' | 'epoch'>): Promise<number> {
    if (this.isAway) return Promise.reject(away());
    const name = `${chainId} ${epoch}`;
    if (!this.#epochs.includes(name)) this.#epochs.push(name);
    return Promise.resolve(this.#epochs.indexOf(name) + 1);
  }

  store(chainId: number, epoch: number, changes: readonly Change[]): Promise<Stored> {
    const failure = this.failsNext;
    this.failsNext = undefined;
    if (this.isAway || failure === 'before commit') return Promise.reject(away());
    const stored = { written: 0, stale: 0, expired: 0, unreadable: 0 };
    for (const change of changes) stored[this.#storeOne(chainId, epoch, change)] += 1;
    return failure === 'after commit' ? Promise.reject(away()) : Promise.resolve(stored);
  }

  upkeep(now: number): Promise<void> {
    if (this.isAway) return Promise.reject(away());
    for (const [id, row] of this.rows) if (!this.#isKept(row, now)) this.rows.delete(id);
    return Promise.resolve();
  }

  #storeOne(chainId: number, epoch: number, change: Change): keyof Stored {
    const row = storableRowOf(chainId, epoch, change);
    if (row === undefined) {
      this.unreadable.push(change);
      return 'unreadable';
    }
    if (!this.#isKept(row, this.options.now())) return 'expired';
    const known = this.rows.get(change.id);
    if (known !== undefined && !isOlder(known, row)) return 'stale';
    const payment = Object.fromEntries(
      LASTING_COLUMNS.map((name) => [name, row[name] ?? known?.[name] ?? null]),
    );
    const claimed_at = known?.claimed_at ?? row.claimed_at;
    this.rows.set(change.id, { ...row, ...payment, claimed_at });
    return 'written';
  }

  #isKept({ claimed_at }: SettlementRow, now: number): boolean {
    return monthOf(claimed_at.getTime()) >= oldestKept(now, this.options.months);
  }
}

/** {@link ArchiveReader} of an archive in memory. */
export class MemoryArchiveReader implements ArchiveReader {
  constructor(private readonly archive: MemoryArchive) {}

  find(query: ArchiveQuery): Promise<readonly ArchivedSettlement[]> {
    const all = [...this.archive.rows.values()].map((row) => settlementOfRow(row));
    return Promise.resolve(foundBy(all, query));
  }
}

/** `numeric(78)`, and `integer`. */
const NUMERIC_END = 10n ** 78n;
const INTEGER_END = 2 ** 31;

/** @returns `undefined` for a record that no row can be made of, or whose row no table takes. */
function storableRowOf(chainId: number, epoch: number, change: Change): SettlementRow | undefined {
  if (change.kind === 'unreadable') return undefined;
  let row: SettlementRow;
  try {
    row = rowOf(chainId, epoch, change);
  } catch {
    return undefined;
  }
  const { amount, settled_amount, authorization_nonce, deadline, log_index, batch_size } = row;
  const numbers = [amount, settled_amount, authorization_nonce, deadline];
  const isStorable =
    numbers.every((text) => text === null || BigInt(text) < NUMERIC_END) &&
    [log_index, batch_size].every((value) => value === null || value < INTEGER_END) &&
    Object.values(row).every((value) => typeof value !== 'string' || !value.includes('\u0000'));
  return isStorable ? row : undefined;
}

function isOlder(a: SettlementRow, b: SettlementRow): boolean {
  const order = (row: SettlementRow) => [row.epoch, row.version_ms, row.version_sequence];
  const [older, newer] = [order(a), order(b)];
  const at = older.findIndex((value, index) => value !== newer[index]);
  return at >= 0 && (older[at] ?? 0) < (newer[at] ?? 0);
}

const away = () => new ArchiveError('database_unreachable', 'ECONNREFUSED');
