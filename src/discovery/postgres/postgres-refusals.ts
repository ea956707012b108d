import { type Kysely, sql } from 'kysely';
import { asked } from '../../history/postgres/database.js';
import type { Tables } from '../../history/postgres/tables.js';
import type { StandingRefusals } from '../learning/known-refusals.js';

/** Of each kind; of what is beyond that a settle is told only that it is not decided yet. */
const MOST = 10_000;

/** The newest of what payees have taken back, and what the operator does not list. */
export async function standingRefusals(db: Kysely<Tables>): Promise<StandingRefusals> {
  const [removed, denied] = await asked(
    Promise.all([
      db
        .selectFrom('catalogue_statements')
        .select(['entry_id', 'ends_at'])
        .where('action', '=', 'remove')
        .where(sql<boolean>`(ends_at is null or ends_at > now())`)
        .orderBy('accepted_at', 'desc')
        .limit(MOST)
        .execute(),
      db.selectFrom('catalogue_denials').select('value').limit(MOST).execute(),
    ]),
  );
  return {
    removed: new Map(
      removed.map((row) => [row.entry_id.toString('hex'), row.ends_at?.getTime() ?? Infinity]),
    ),
    denied: new Set(denied.map(({ value }) => value)),
  };
}
