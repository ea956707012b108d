import { sql } from 'kysely';
import type { Settlement } from '../../settlement/ledger/queries/settlement-queries.js';
import type { ArchivedRow } from '../archived-row.js';
import { settlementOf } from '../sellers/archived-settlement.js';
import type { SettlementFilter } from '../sellers/settlement-filter.js';
import type {
  Grouping,
  ListedSettlement,
  Position,
  SettlementReader,
  TotalRow,
} from '../sellers/settlement-reader.js';
import { bytesOf } from './bytea.js';
import { asked, type Database } from './database.js';
import { afterPlace, conditionsOf, listed, NEWEST, totalsWhere } from './settlement-sql.js';

/** {@link SettlementReader} in PostgreSQL. */
export class PostgresSettlementReader implements SettlementReader {
  constructor(private readonly database: Database) {}

  /**
   * The newest settlements of each payee are read by index, and the newest of all are taken from them. One query over
   * many payees would sort all their settlements.
   */
  async page(
    filter: SettlementFilter,
    after: Position | undefined,
    most: number,
  ): Promise<readonly ListedSettlement[]> {
    const payees = sql.val(filter.payees.map(bytesOf));
    const conditions = [sql`pay_to = payee.address`, ...conditionsOf(filter), ...afterPlace(after)];
    const query = sql<ArchivedRow>`
      select newest.* from unnest(${payees}::bytea[]) as payee (address)
      cross join lateral (
        select * from x402.settlements where ${sql.join(conditions, sql` and `)}
        order by ${NEWEST} limit ${most}
      ) as newest
      order by ${NEWEST} limit ${most}`;
    const { rows } = await asked(query.execute(this.database.db));
    return rows.map(listed);
  }

  async byId(id: string): Promise<Settlement | undefined> {
    const bytes = Buffer.from(id, 'base64url');
    // The month of the settlement is read first, so that one partition is read.
    const query = sql<ArchivedRow>`
      select * from x402.settlements where id = ${bytes} and claimed_at =
        (select claimed_at from x402.settlement_ids where id = ${bytes})`;
    const { rows } = await asked(query.execute(this.database.db));
    return rows[0] && settlementOf(rows[0]);
  }

  totals(filter: SettlementFilter, grouping: Grouping, most: number): Promise<readonly TotalRow[]> {
    // A row without its payment has no payee.
    const payees = sql`pay_to = any(${sql.val(filter.payees.map(bytesOf))}::bytea[])`;
    return totalsWhere(this.database, [payees, ...conditionsOf(filter)], grouping, most);
  }
}
