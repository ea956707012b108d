import type { Transaction } from 'kysely';
import { ArchiveError } from '../archive.js';
import { LASTING_COLUMNS, type SettlementRow } from '../settlement-row.js';
import { codeOf } from './database.js';
import type { Tables } from './tables.js';

/** A row as it was, as far as it decides what has happened, and as it was written. */
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
 * Told of each change in the transaction that archives it: what it writes there is there if and only if the
 * change is. What it throws keeps the change from being archived.
 */
export interface ChangeFollower {
  follow(transaction: Transaction<Tables>, changes: readonly RowChange[]): Promise<void>;
}

/** Absent where nothing follows. */
export const ChangeFollower = Symbol('ChangeFollower');

const VERSION = ['epoch', 'version_ms', 'version_sequence'] as const;

/**
 * Writes rows, and tells of those that were written.
 *
 * @param write - returns how many were; the others are known as they were later.
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
  // Locked, in one order: of two processes that write one settlement the second compares with what the first has written.
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
    // It may be known from an earlier record alone.
    const lasting = Object.fromEntries(LASTING_COLUMNS.map((column) => [column, stored[column]]));
    return [{ before: old, after: { ...row, ...lasting } }];
  });
  try {
    await follower.follow(transaction, changes);
  } catch (error) {
    // It says nothing of the rows: they can be stored, and are when this works again.
    throw new ArchiveError('database_failed', codeOf(error), error);
  }
  return written;
}

function byId<T extends { readonly id: Buffer }>(rows: readonly T[]): ReadonlyMap<string, T> {
  return new Map(rows.map((row) => [row.id.toString('hex'), row]));
}

/** As text: the driver reads large integers as text. */
function versionOf(row: Pick<SettlementRow, (typeof VERSION)[number]>): string {
  return VERSION.map((name) => String(row[name])).join(' ');
}
