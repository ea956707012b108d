import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { asked } from '../../history/postgres/database.js';
import { CatalogueDatabase } from './catalogue-database.js';

/** Limit of each kind; above it, a settle is answered that the listing is not decided yet. */
const MOST = 10_000;

/** Entries that no payment lists. */
export interface ListingRefusals {
  /** Entries that their payees have removed: ids in hex, with the end of the removal (milliseconds since the epoch). */
  readonly removed: ReadonlyMap<string, number>;
  /** Payees in lower case, and hosts. */
  readonly denied: ReadonlySet<string>;
}

@Injectable()
export class PostgresRefusals {
  constructor(@Inject(CatalogueDatabase) private readonly db: CatalogueDatabase) {}

  /** The newest removals by payees, and the operator's denials. @throws ArchiveError */
  async standing(): Promise<ListingRefusals> {
    const { db } = this;
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
}
