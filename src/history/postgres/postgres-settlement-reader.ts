import { type RawBuilder, sql } from 'kysely';
import type { Hex } from 'viem';
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
import { asked, type Database } from './database.js';

const NEWEST = sql.raw('claimed_at desc, id desc');

/** {@link SettlementReader} in PostgreSQL. */
export class PostgresSettlementReader implements SettlementReader {
  constructor(private readonly database: Database) {}

  /**
   * Each payee's newest are read in the order of the index, and the newest of all are taken from these: one
   * query over many payees would sort everything they ever had.
   */
  async page(
    filter: SettlementFilter,
    after: Position | undefined,
    most: number,
  ): Promise<readonly ListedSettlement[]> {
    const payees = sql.val(filter.payees.map(bytesOf));
    const conditions = [sql`pay_to = payee.address`, ...conditionsOf(filter)];
    if (after !== undefined) {
      const { claimedAt, id } = after;
      // The first alone tells which partitions there is no need to look into.
      conditions.push(
        sql`claimed_at <= ${claimedAt}`,
        sql`(claimed_at, id) < (${claimedAt}::timestamptz, ${id}::bytea)`,
      );
    }
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
    // The month it lies in first: one partition is read.
    const query = sql<ArchivedRow>`
      select * from x402.settlements where id = ${bytes} and claimed_at =
        (select claimed_at from x402.settlement_ids where id = ${bytes})`;
    const { rows } = await asked(query.execute(this.database.db));
    return rows[0] && settlementOf(rows[0]);
  }

  async totals(
    filter: SettlementFilter,
    { byDay, byPayee }: Grouping,
    most: number,
  ): Promise<readonly TotalRow[]> {
    const payees = sql`pay_to = any(${sql.val(filter.payees.map(bytesOf))}::bytea[])`;
    const day = sql`to_char(claimed_at at time zone 'UTC', 'YYYY-MM-DD')`;
    // A row without its payment is of no asset; it has no payee either and is in no list.
    const query = sql<ReadTotal>`
      select ${byDay ? day : sql`''`} as day, chain_id, asset,
        ${byPayee ? sql`pay_to` : sql`''::bytea`} as pay_to, state, count(*) as count,
        count(*) filter (where is_paid) as paid_count,
        coalesce(sum(coalesce(settled_amount, amount)) filter (where is_paid), 0)::text as paid_amount
      from x402.settlements where ${sql.join([payees, ...conditionsOf(filter)], sql` and `)}
      group by 1, chain_id, asset, 4, state
      order by 1 desc, chain_id, asset, 4, state limit ${most}`;
    const { rows } = await asked(query.execute(this.database.db));
    return rows.map((row) => ({
      day: row.day,
      chainId: Number(row.chain_id),
      asset: hexOf(row.asset),
      payTo: hexOf(row.pay_to),
      state: row.state,
      count: BigInt(row.count),
      paidCount: BigInt(row.paid_count),
      paidAmount: BigInt(row.paid_amount),
    }));
  }
}

/** As PostgreSQL gives it: numbers that may be large are text. */
interface ReadTotal {
  readonly day: string;
  readonly chain_id: string;
  readonly asset: Buffer;
  readonly pay_to: Buffer;
  readonly state: string;
  readonly count: string;
  readonly paid_count: string;
  readonly paid_amount: string;
}

function listed(row: ArchivedRow): ListedSettlement {
  return { position: { claimedAt: row.claimed_at, id: row.id }, settlement: settlementOf(row) };
}

/** What a filter asks for, but for the payees. */
function conditionsOf({
  from,
  to,
  state,
  asset,
  chainId,
}: SettlementFilter): RawBuilder<unknown>[] {
  return [
    ...(from === undefined ? [] : [sql`claimed_at >= ${new Date(from)}`]),
    ...(to === undefined ? [] : [sql`claimed_at < ${new Date(to)}`]),
    ...(state === undefined ? [] : [sql`state = ${state}`]),
    ...(asset === undefined ? [] : [sql`asset = ${bytesOf(asset)}`]),
    ...(chainId === undefined ? [] : [sql`chain_id = ${chainId}`]),
  ];
}

function bytesOf(hex: Hex): Buffer {
  return Buffer.from(hex.slice(2), 'hex');
}

function hexOf(bytes: Buffer): Hex {
  return `0x${bytes.toString('hex')}`;
}
