import { type Kysely, sql } from 'kysely';
import { asked } from '../../history/postgres/database.js';
import type { Tables } from '../../history/postgres/tables.js';
import type { ForeignPlace, OwnPlaces } from '../federation/federation.js';
import { hostOf } from './entry-rows.js';

/** {@link OwnPlaces} in the database of the history: one look-up of a page. */
export class PostgresOwnPlaces implements OwnPlaces {
  constructor(private readonly db: Kysely<Tables>) {}

  async withheld(places: readonly ForeignPlace[], since: Date): Promise<ReadonlySet<number>> {
    const named = places.map(({ chainId, payTo, resource }, n) => ({
      ...{ n, chain_id: chainId, payee: payTo, resource, host: hostOf(resource) },
    }));
    const { rows } = await asked(
      sql<{ readonly n: number }>`
        select n from (
          select *, decode(substr(payee, 3), 'hex') as pay_to
          from json_to_recordset(${JSON.stringify(named)}::json)
            as named (n integer, chain_id bigint, payee text, resource text, host text)) place
        where exists (select from x402.catalogue_entries entry
            where entry.resource = place.resource and entry.pay_to = place.pay_to
              and entry.chain_id = place.chain_id and entry.last_paid_at >= ${since})
          or exists (select from x402.catalogue_statements said
            where said.resource = place.resource and said.pay_to = place.pay_to
              and said.chain_id = place.chain_id and said.action = 'remove'
              and (said.ends_at is null or said.ends_at > now()))
          or exists (select from x402.catalogue_denials
            where kind = 'host' and value = place.host)
          or exists (select from x402.catalogue_denials
            where kind = 'payee' and value = place.payee)`.execute(this.db),
    );
    return new Set(rows.map(({ n }) => n));
  }
}
