import { Inject, Injectable, Optional } from '@nestjs/common';
import { type Kysely, sql, type Transaction } from 'kysely';
import { Clock } from '../../platform/concurrency/clock.js';
import { AppConfig } from '../../platform/config/app-config.js';
import type { HistoryConfig } from '../../platform/config/history-settings.js';
import type { LedgerAt } from '../../settlement/ledger/ledger-scripts.js';
import type { Change } from '../../settlement/ledger/outbox.js';
import type { Archive, Stored } from '../archive.js';
import { LASTING_COLUMNS, rowOf, type SettlementRow } from '../settlement-row.js';
import { ChangeFollower, writeAndTell } from './change-follower.js';
import { asked, codeOf, Database } from './database.js';
import { checkMigrated, migrate } from './migrator.js';
import { Partitions } from './partitions.js';
import type { Tables } from './tables.js';

interface ArchiveConfig {
  readonly history: Pick<HistoryConfig, 'migrates' | 'months'> | undefined;
}

type Unreadable = Tables['unreadable_records'];

interface Batch {
  readonly rows: readonly SettlementRow[];
  readonly unreadable: readonly Unreadable[];
}

/** SQLSTATE classes of a value that no column takes, or of a violated constraint. */
const UNSTORABLE = /^(22|23)/;

/** {@link Archive} in PostgreSQL. */
@Injectable()
export class PostgresArchive implements Archive {
  readonly #partitions: Partitions;
  readonly #db: Kysely<Tables>;

  /** @param follower - receives the changes in their transaction. */
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(AppConfig) private readonly config: ArchiveConfig,
    @Inject(Clock) private readonly clock: Pick<Clock, 'now'>,
    @Optional() @Inject(ChangeFollower) private readonly follower?: ChangeFollower,
  ) {
    this.#db = database.db;
    this.#partitions = new Partitions(database.pool, config.history?.months);
  }

  async open(): Promise<void> {
    const { pool } = this.database;
    if (this.config.history?.migrates === true) await migrate(pool);
    else await checkMigrated(pool);
  }

  async epochNumber({ chainId, epoch }: Pick<LedgerAt, 'chainId' | 'epoch'>): Promise<number> {
    return asked(
      (async () => {
        await this.#db
          .insertInto('ledger_epochs')
          .values({ chain_id: chainId, epoch })
          .onConflict((conflict) => conflict.columns(['chain_id', 'epoch']).doNothing())
          .execute();
        const { number } = await this.#db
          .selectFrom('ledger_epochs')
          .select('number')
          .where('chain_id', '=', chainId)
          .where('epoch', '=', epoch)
          .executeTakeFirstOrThrow();
        return Number(number);
      })(),
    );
  }

  async store(chainId: number, epoch: number, changes: readonly Change[]): Promise<Stored> {
    const all = changes.map((change) => readRow(chainId, epoch, change));
    const rows = all.flatMap((one) => ('state' in one ? [one] : []));
    const unreadable = all.flatMap((one) => ('state' in one ? [] : [one]));
    const kept = rows.filter((row) => this.#partitions.isKept(row.claimed_at, this.clock.now()));
    const expired = rows.length - kept.length;
    if (kept.length + unreadable.length === 0) {
      return { written: 0, stale: 0, unreadable: 0, expired };
    }
    return { ...(await this.#storeOrSplit({ rows: kept, unreadable })), expired };
  }

  upkeep(now: number): Promise<void> {
    return asked(this.#partitions.upkeep(now));
  }

  /** One row that cannot be stored must not keep other rows out of the archive. */
  async #storeOrSplit(batch: Batch): Promise<Omit<Stored, 'expired'>> {
    try {
      return await this.#commit(batch);
    } catch (error) {
      if (!UNSTORABLE.test(codeOf(error) ?? '')) return asked(Promise.reject(error as Error));
      const { rows, unreadable } = batch;
      const [row] = rows;
      if (row === undefined) return asked(Promise.reject(error as Error));
      if (rows.length === 1) {
        return this.#storeOrSplit({ rows: [], unreadable: [...unreadable, unstorable(row)] });
      }
      const middle = rows.length >> 1;
      const first = await this.#storeOrSplit({ rows: rows.slice(0, middle), unreadable });
      const second = await this.#storeOrSplit({ rows: rows.slice(middle), unreadable: [] });
      return {
        written: first.written + second.written,
        stale: first.stale + second.stale,
        unreadable: first.unreadable + second.unreadable,
      };
    }
  }

  async #commit({ rows, unreadable }: Batch): Promise<Omit<Stored, 'expired'>> {
    // All processes lock rows in one order, so that they cannot deadlock.
    const sorted = [...rows].sort((a, b) => Buffer.compare(a.id, b.id));
    await this.#partitions.makeFor(sorted.map((row) => row.claimed_at));
    const written = await this.#db.transaction().execute(async (transaction) => {
      if (unreadable.length > 0) await keepUnreadable(transaction, unreadable);
      return sorted.length === 0 ? 0 : this.#write(transaction, await placed(transaction, sorted));
    });
    return { written, stale: sorted.length - written, unreadable: unreadable.length };
  }

  #write(transaction: Transaction<Tables>, rows: readonly SettlementRow[]): Promise<number> {
    const { follower } = this;
    const write = (): Promise<number> => writeRows(transaction, rows);
    return follower === undefined ? write() : writeAndTell(transaction, rows, { follower, write });
  }
}

/** A claim that the ledger restored has another time. Its row stays in its partition. */
async function placed(
  db: Transaction<Tables>,
  rows: readonly SettlementRow[],
): Promise<readonly SettlementRow[]> {
  await db
    .insertInto('settlement_ids')
    .values(
      rows.map(({ id, chain_id, authorization_id, claimed_at }) => ({
        id,
        chain_id,
        authorization_id,
        claimed_at,
      })),
    )
    .onConflict((conflict) => conflict.column('id').doNothing())
    .execute();
  const places = await db
    .selectFrom('settlement_ids')
    .select(['id', 'claimed_at'])
    .where(
      'id',
      'in',
      rows.map(({ id }) => id),
    )
    .execute();
  const at = new Map(places.map(({ id, claimed_at }) => [id.toString('hex'), claimed_at]));
  return rows.map((row) => ({
    ...row,
    claimed_at: at.get(row.id.toString('hex')) ?? row.claimed_at,
  }));
}

/** @returns the number of written rows; the others exist with a later version. */
async function writeRows(db: Transaction<Tables>, rows: readonly SettlementRow[]): Promise<number> {
  const [first] = rows;
  if (first === undefined) return 0;
  const columns = Object.keys(first) as (keyof SettlementRow)[];
  const changing = columns.filter((name) => name !== 'id' && name !== 'claimed_at');
  const kept: ReadonlySet<string> = new Set(LASTING_COLUMNS);
  const values = Object.fromEntries(
    changing.map((name) => [
      name,
      kept.has(name)
        ? sql.raw(`coalesce(excluded.${name}, settlements.${name})`)
        : sql.raw(`excluded.${name}`),
    ]),
  );
  const { numInsertedOrUpdatedRows: written } = await db
    .insertInto('settlements')
    .values([...rows])
    .onConflict((conflict) =>
      conflict
        .columns(['claimed_at', 'id'])
        .doUpdateSet({ ...values, archived_at: sql`now()` })
        .where(
          sql<boolean>`(settlements.epoch, settlements.version_ms, settlements.version_sequence)
            < (excluded.epoch, excluded.version_ms, excluded.version_sequence)`,
        ),
    )
    .executeTakeFirstOrThrow();
  return Number(written ?? 0n);
}

async function keepUnreadable(
  db: Transaction<Tables>,
  records: readonly Unreadable[],
): Promise<void> {
  await db
    .insertInto('unreadable_records')
    .values([...records])
    .onConflict((conflict) =>
      conflict.columns(['chain_id', 'id', 'epoch', 'version_ms', 'version_sequence']).doNothing(),
    )
    .execute();
}

function readRow(chainId: number, epoch: number, change: Change): SettlementRow | Unreadable {
  if (change.kind === 'recorded') {
    try {
      return rowOf(chainId, epoch, change);
    } catch {
      // The value stays unconverted.
    }
  }
  return {
    chain_id: chainId,
    id: change.id,
    epoch,
    version_ms: change.version.ms,
    version_sequence: change.version.sequence,
    record: change.kind === 'recorded' ? textOf(change.settlement) : change.text,
  };
}

function unstorable(row: SettlementRow): Unreadable {
  const { chain_id, epoch, version_ms, version_sequence } = row;
  return {
    chain_id,
    epoch,
    version_ms,
    version_sequence,
    id: row.id.toString('base64url'),
    record: textOf(row),
  };
}

/** JSON has no bigint, and PostgreSQL no text with a zero character. */
function textOf(value: unknown): string {
  return JSON.stringify(value, (_, one: unknown) => (typeof one === 'bigint' ? String(one) : one));
}
