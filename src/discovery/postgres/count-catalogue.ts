import { type Kysely, sql } from 'kysely';
import { asked } from '../../history/postgres/database.js';
import type { Tables } from '../../history/postgres/tables.js';
import type { CatalogueCounts } from '../operators/catalogue-figures.js';
import { isDenied } from './postgres-catalogue-reader.js';

/** @throws ArchiveError */
export async function countCatalogue(db: Kysely<Tables>, since: Date): Promise<CatalogueCounts> {
  const { rows } = await asked(
    sql<{ readonly what: 'listed' | 'payee' | 'host'; of: string; count: string }>`
      select 'listed' as what, chain_id::text as of, count(*) as count
      from x402.catalogue_entries entry
      where last_paid_at >= ${since} and not ${isDenied(sql`entry`)} group by chain_id
      union all
      select kind, '', count(*) from x402.catalogue_denials group by kind`.execute(db),
  );
  const numberOf = (what: string): number =>
    Number(rows.find((row) => row.what === what)?.count ?? 0);
  return {
    listed: new Map(
      rows.flatMap(({ what, of, count }) =>
        what === 'listed' ? [[Number(of), Number(count)] as const] : [],
      ),
    ),
    denials: { payee: numberOf('payee'), host: numberOf('host') },
  };
}
