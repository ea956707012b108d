import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { asked } from '../../history/postgres/database.js';
import type { DenialKind } from '../operators/moderation-store.js';
import { CatalogueDatabase } from './catalogue-database.js';
import { isDenied } from './postgres-catalogue-reader.js';

/** Numbers of the catalogue's content. */
export interface CatalogueCounts {
  /** Public entries, by chain. */
  readonly listed: ReadonlyMap<number, number>;
  readonly denials: Readonly<Record<DenialKind, number>>;
}

@Injectable()
export class PostgresCounts {
  constructor(@Inject(CatalogueDatabase) private readonly db: CatalogueDatabase) {}

  /** @param since - entries without a payment since are hidden. @throws ArchiveError */
  async count(since: Date): Promise<CatalogueCounts> {
    const { rows } = await asked(
      sql<{ readonly what: 'listed' | 'payee' | 'host'; of: string; count: string }>`
      select 'listed' as what, chain_id::text as of, count(*) as count
      from x402.catalogue_entries entry
      where last_paid_at >= ${since} and not ${isDenied(sql`entry`)} group by chain_id
      union all
      select kind, '', count(*) from x402.catalogue_denials group by kind`.execute(this.db),
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
}
