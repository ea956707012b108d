import type { Transaction } from 'kysely';
import { ArchiveError } from '../archive.js';
import { LASTING_COLUMNS, type SettlementRow } from '../settlement-row.js';
import { codeOf } from './database.js';
import type { Tables } from './tables.js';

/** The state of a row before and after a change. */
export interface RowChange {
  readonly before:
    | Pick<
        SettlementRow,
        'state' | 'is_paid' | 'transaction' | 'block_hash' | 'sale' | 'unclaimed_at'
      >
    | undefined;
  readonly after: SettlementRow;
}

/**
 * Receives each change in the transaction that archives it, so its own writes are committed together with the change.
 * An exception rolls the change back.
 */
export interface ChangeFollower {
  follow(transaction: Transaction<Tables>, changes: readonly RowChange[]): Promise<void>;
}

/** Absent without followers. */
export const ChangeFollower = Symbol('ChangeFollower');

const VERSION = ['epoch', 'version_ms', 'version_sequence'] as const;

/**
 * Writes rows, and passes the written ones to the follower.
 *
 * @param write - returns the number of written rows; the others exist with a later version.
 */
export async function writeAndTell(
  transaction: Transaction<Tables>,
  rows: readonly SettlementRow[],
  { follower, write }: { readonly follower: ChangeFollower; readonly write: () => Promise<number> },
): Promise<number> {
  const ids = rows.map(({ id }) => id);
  const days = rows.map(({ claimed_at }) => claimed_at);
  const found = transaction
    .selectFrom('settlements')
    .where('id', 'in', ids)
    .where('claimed_at', 'in', days);
  // Rows are locked in one order, so the second of two processes compares with the result of the first.
  const before = await found
    .select(['id', 'state', 'is_paid', 'transaction', 'block_hash', 'sale', 'unclaimed_at'])
    .select(VERSION)
    .orderBy('id')
    .forUpdate()
    .execute();
  const written = await write();
  if (written === 0) return 0;
  const after = await found.select(['id', ...VERSION, ...LASTING_COLUMNS]).execute();
  const [olds, news] = [byId(before), byId(after)];
  const changes = rows.flatMap((row): RowChange[] => {
    const name = row.id.toString('hex');
    const [old, stored] = [olds.get(name), news.get(name)];
    if (stored === undefined || versionOf(stored) !== versionOf(row)) return [];
    if (old !== undefined && versionOf(old) === versionOf(row)) return [];
    // Only an earlier record may have these columns.
    const lasting = Object.fromEntries(LASTING_COLUMNS.map((column) => [column, stored[column]]));
    return [{ before: old, after: { ...row, ...lasting } }];
  });
  try {
    await follower.follow(transaction, changes);
  } catch (error) {
    // This failure is not caused by the rows: they are stored after the outage.
    throw new ArchiveError('database_failed', codeOf(error), error);
  }
  return written;
}

function byId<T extends { readonly id: Buffer }>(rows: readonly T[]): ReadonlyMap<string, T> {
  return new Map(rows.map((row) => [row.id.toString('hex'), row]));
}

/** The version as text, because the driver reads large integers as text. */
function versionOf(row: Pick<SettlementRow, (typeof VERSION)[number]>): string {
  return VERSION.map((name) => String(row[name])).join(' ');
}
