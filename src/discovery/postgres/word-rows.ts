import { type Kysely, sql } from 'kysely';
import { asked } from '../../history/postgres/database.js';
import type { Tables } from '../../history/postgres/tables.js';

/** Words that are checked at a time, while indexing waits. */
const PORTION = 500;
/** Limit of portions in a row, while more than a part of each was deleted. */
const PORTIONS_MAX = 100;
const MANY_GONE = PORTION / 4;

/**
 * Deletes words that no entry has any more, beginning with those that were not checked for the longest time. Words of
 * short life are deleted as fast as they appear.
 *
 * @param lock - the lock of entry writers, because an entry in progress has words that are not visible yet.
 * @throws ArchiveError
 */
export async function forgetWords(db: Kysely<Tables>, lock: number): Promise<void> {
  for (let portion = 0; portion < PORTIONS_MAX; portion += 1) {
    if ((await forgetSome(db, lock)) < MANY_GONE) return;
  }
}

function forgetSome(db: Kysely<Tables>, lock: number): Promise<number> {
  return asked(
    db.transaction().execute(async (transaction) => {
      await sql`select pg_advisory_xact_lock(${lock})`.execute(transaction);
      // Otherwise the planner reads all entries to find one, for a word that no entry has.
      await sql`set local enable_seqscan = off`.execute(transaction);
      const { rows } = await sql<{ readonly gone: string }>`
        with looked as (
          select word, exists (
            select from x402.catalogue_entries
            where search @@ ('''' || replace(replace(word, '\\', '\\\\'), '''', '''''') || '''')::tsquery) as is_said
          from (select word from x402.catalogue_words order by seen_at, word limit ${PORTION}) oldest),
        kept as (
          update x402.catalogue_words set seen_at = now()
          where word in (select word from looked where is_said)),
        gone as (
          delete from x402.catalogue_words where word in (select word from looked where not is_said) returning word)
        select count(*) as gone from gone`.execute(transaction);
      return Number(rows[0]?.gone ?? 0);
    }),
  );
}
