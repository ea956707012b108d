import { type Kysely, sql } from 'kysely';
import { asked } from '../../history/postgres/database.js';
import type { Tables } from '../../history/postgres/tables.js';

/** Words that are looked up at a time: indexing waits as long. */
const PORTION = 500;
/** So many portions at most, one after the other while more than a part of one was gone. */
const PORTIONS_MAX = 100;
const MANY_GONE = PORTION / 4;

/**
 * Drops words that no entry has any more, those first that were not looked for the longest. Words
 * that are soon replaced are dropped as fast as they appear.
 *
 * @param lock - of those who write entries: one that is being written has words that are seen
 *   nowhere yet.
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
      // To find one entry the planner would read them all, for a word that none has.
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
