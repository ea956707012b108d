import { type RawBuilder, sql } from 'kysely';
import type { ArchivedRow } from '../archived-row.js';
import { settlementOf } from '../sellers/archived-settlement.js';
import type { Narrowing } from '../sellers/settlement-filter.js';
import type {
  Grouping,
  ListedSettlement,
  Position,
  TotalRow,
} from '../sellers/settlement-reader.js';
import { bytesOf, hexOf } from './bytea.js';
import { asked, type Database } from './database.js';

/** The order of every list. */
export const NEWEST = sql.raw('claimed_at desc, id desc');

type Condition = RawBuilder<unknown>;

/** The conditions of the request, without the payee. */
export function conditionsOf({ from, to, state, sale, asset, chainId }: Narrowing): Condition[] {
  return [
    ...(from === undefined ? [] : [sql`claimed_at >= ${new Date(from)}`]),
    ...(to === undefined ? [] : [sql`claimed_at < ${new Date(to)}`]),
    ...(state === undefined ? [] : [sql`state = ${state}`]),
    ...(sale === 'sold' ? [sql`sale = 'sold'`] : []),
    ...(sale === 'unclaimed' ? [sql`is_paid and sale = 'open' and unclaimed_at is not null`] : []),
    ...(asset === undefined ? [] : [sql`asset = ${bytesOf(asset)}`]),
    ...(chainId === undefined ? [] : [sql`chain_id = ${chainId}`]),
  ];
}

/** The rows after a position in the order of a list. */
export function afterPlace(after: Position | undefined): Condition[] {
  if (after === undefined) return [];
  const { claimedAt, id } = after;
  return [
    // Alone it tells which partitions there is no need to look into.
    sql`claimed_at <= ${claimedAt}`,
    sql`(claimed_at, id) < (${claimedAt}::timestamptz, ${id}::bytea)`,
  ];
}

/** Sums over the settlements that meet all of the conditions. None of them may be without its payment. */
export async function totalsWhere(
  { db }: Database,
  conditions: readonly Condition[],
  { byDay, byPayee }: Grouping,
  most: number,
): Promise<readonly TotalRow[]> {
  const day = sql`to_char(claimed_at at time zone 'UTC', 'YYYY-MM-DD')`;
  const query = sql<ReadTotal>`
    select ${byDay ? day : sql`''`} as day, chain_id, asset,
      ${byPayee ? sql`pay_to` : sql`''::bytea`} as pay_to, state, count(*) as count,
      count(*) filter (where is_paid) as paid_count,
      coalesce(sum(coalesce(settled_amount, amount)) filter (where is_paid), 0)::text as paid_amount
    from x402.settlements where ${sql.join(conditions, sql` and `)}
    group by 1, chain_id, asset, 4, state
    order by 1 desc, chain_id, asset, 4, state limit ${most}`;
  const { rows } = await asked(query.execute(db));
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

export function listed(row: ArchivedRow): ListedSettlement {
  return { position: { claimedAt: row.claimed_at, id: row.id }, settlement: settlementOf(row) };
}
