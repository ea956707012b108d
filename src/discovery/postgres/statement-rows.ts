import { type Kysely, sql, type Transaction } from 'kysely';
import { asked } from '../../history/postgres/database.js';
import type { Tables } from '../../history/postgres/tables.js';
import type { Listing } from '../../protocol/listing/listing.js';
import type { Words } from '../../protocol/listing/read-declaration.js';

/** The payee's statement about an entry, until it expires. */
interface CurrentStatement {
  readonly action: 'remove' | 'correct' | 'restore';
  readonly words: Words;
}

export async function currentStatement(
  transaction: Transaction<Tables>,
  entryId: Buffer,
): Promise<CurrentStatement | undefined> {
  const row = await transaction
    .selectFrom('catalogue_statements')
    .select(['action', 'words'])
    .where('entry_id', '=', entryId)
    .where(sql<boolean>`(ends_at is null or ends_at > now())`)
    .executeTakeFirst();
  return row && { action: row.action, words: JSON.parse(row.words) as Words };
}

/** The payee's texts replace those that the buyer's client sent. */
export function correctedBy(listing: Listing, statement: CurrentStatement | undefined): Listing {
  return statement?.action === 'correct' ? { ...listing, ...statement.words } : listing;
}

/** When the newest statement of an entry was issued; a later statement must be newer. */
export async function lastIssuedAt(
  db: Kysely<Tables>,
  entryId: Buffer,
): Promise<number | undefined> {
  const row = await asked(
    db
      .selectFrom('catalogue_statements')
      .select('issued_at')
      .where('entry_id', '=', entryId)
      .executeTakeFirst(),
  );
  return row?.issued_at.getTime();
}

/** Deletes ended statements that are older than any statement that would be accepted. */
export async function forgetStatements(
  transaction: Transaction<Tables>,
  before: Date,
): Promise<void> {
  await transaction
    .deleteFrom('catalogue_statements')
    .where('issued_at', '<', before)
    .where((where) => where.or([where('action', '=', 'restore'), where('ends_at', '<', before)]))
    .execute();
}
