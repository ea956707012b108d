import { Inject, Injectable } from '@nestjs/common';
import { type Kysely, sql, type Transaction } from 'kysely';
import { bytesOf } from '../../history/postgres/bytea.js';
import { asked } from '../../history/postgres/database.js';
import type { Tables } from '../../history/postgres/tables.js';
import type { Listing } from '../../protocol/listing/listing.js';
import type { EntryName, Statement } from '../owned/statement.js';
import type { StatementStore } from '../owned/statements.js';
import { CatalogueDatabase } from './catalogue-database.js';
import { entryIdNamed, isTemplate, searchedOf } from './entry-rows.js';
import { WRITER_LOCK } from './postgres-catalogue.js';
import { lastIssuedAt } from './statement-rows.js';

/** {@link StatementStore} in the database of the history. */
@Injectable()
export class PostgresStatements implements StatementStore {
  constructor(@Inject(CatalogueDatabase) private readonly db: CatalogueDatabase) {}

  async standing(entry: EntryName): ReturnType<StatementStore['standing']> {
    const id = entryIdNamed(entry);
    const last = await lastIssuedAt(this.db, id);
    if (last !== undefined) return { lastIssuedAt: last };
    const listed = await asked(listingOf(this.db, id));
    return listed === undefined ? undefined : { lastIssuedAt: undefined };
  }

  write(statement: Statement): Promise<'written' | 'stale' | 'unknown'> {
    return asked(
      this.db.transaction().execute(async (transaction) => {
        // A concurrent update would read the previous statement.
        await sql`select pg_advisory_xact_lock(${WRITER_LOCK})`.execute(transaction);
        const id = entryIdNamed(statement);
        const last = await lastIssuedAt(transaction, id);
        if (last !== undefined && last >= statement.issuedAt) return 'stale';
        const listing = await listingOf(transaction, id);
        if (last === undefined && listing === undefined) return 'unknown';
        await writeStatement(transaction, id, statement, listing);
        if (statement.action === 'remove') {
          await transaction.deleteFrom('catalogue_entries').where('id', '=', id).execute();
        }
        if (statement.action === 'correct' && listing !== undefined) {
          const corrected = { ...listing, ...statement.words };
          await transaction
            .updateTable('catalogue_entries')
            .set({ listing: JSON.stringify(corrected), ...searchedOf(corrected) })
            .where('id', '=', id)
            .execute();
        }
        return 'written';
      }),
    );
  }
}

async function listingOf(db: Kysely<Tables>, id: Buffer): Promise<Listing | undefined> {
  const row = await db
    .selectFrom('catalogue_entries')
    .select('listing')
    .where('id', '=', id)
    .executeTakeFirst();
  return row && (JSON.parse(row.listing) as Listing);
}

async function writeStatement(
  transaction: Transaction<Tables>,
  entry_id: Buffer,
  { chainId, payTo, resource, call, action, words, issuedAt, endsAt }: Statement,
  listing: Listing | undefined,
): Promise<void> {
  const columns = {
    action,
    words: JSON.stringify(words),
    issued_at: new Date(issuedAt),
    ends_at: endsAt === undefined ? null : new Date(endsAt),
    // Without an entry, the values come from an earlier statement.
    ...(listing && { is_template: isTemplate(listing) }),
  };
  await transaction
    .insertInto('catalogue_statements')
    .values({ entry_id, chain_id: chainId, pay_to: bytesOf(payTo), resource, call, ...columns })
    .onConflict((conflict) =>
      conflict.column('entry_id').doUpdateSet({ ...columns, accepted_at: sql<Date>`now()` }),
    )
    .execute();
}
