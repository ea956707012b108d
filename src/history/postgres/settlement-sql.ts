import { type RawBuilder, sql } from 'kysely';
import { allActions, CHANNEL_SCHEME } from '../../protocol/schemes/registry.js';
import type { ChannelAction } from '../../protocol/schemes/scheme.js';
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

/** The conditions of a query, without its payees. */
export function conditionsOf(narrowing: Narrowing): Condition[] {
  const { from, to, state, sale, asset, chainId, scheme, action } = narrowing;
  return [
    ...(from === undefined ? [] : [sql`claimed_at >= ${new Date(from)}`]),
    ...(to === undefined ? [] : [sql`claimed_at < ${new Date(to)}`]),
    ...(state === undefined ? [] : [sql`state = ${state}`]),
    ...(sale === 'sold' ? [sql`sale = 'sold'`] : []),
    ...(sale === 'unclaimed' ? [sql`is_paid and sale = 'open' and unclaimed_at is not null`] : []),
    ...(asset === undefined ? [] : [sql`asset = ${bytesOf(asset)}`]),
    ...(chainId === undefined ? [] : [sql`chain_id = ${chainId}`]),
    ...(scheme === undefined ? [] : [sql`scheme = ${scheme}`]),
    ...(action === undefined ? [] : [sql`(scheme, method) in (${sql.join(namesOf(action))})`]),
  ];
}

/** The stored names of an action on a channel, which several methods may have made. */
function namesOf(channelAction: ChannelAction): Condition[] {
  return allActions()
    .filter(({ action }) => action.channelAction === channelAction)
    .map(({ scheme, action }) => sql`(${scheme.name}, ${action.method.name})`);
}

/** The rows after a position in the order of a list. */
export function afterPlace(after: Position | undefined): Condition[] {
  if (after === undefined) return [];
  const { claimedAt, id } = after;
  return [
    // Redundant, but it lets PostgreSQL skip partitions.
    sql`claimed_at <= ${claimedAt}`,
    sql`(claimed_at, id) < (${claimedAt}::timestamptz, ${id}::bytea)`,
  ];
}

/** Sums over the settlements that meet all conditions. The conditions must exclude rows without a payment. */
export async function totalsWhere(
  { db }: Database,
  conditions: readonly Condition[],
  { byDay, byPayee }: Grouping,
  most: number,
): Promise<readonly TotalRow[]> {
  const day = sql`to_char(claimed_at at time zone 'UTC', 'YYYY-MM-DD')`;
  // A deposit is still money of its payer in escrow. A claim or a payout does not name its amount.
  const isPaid = sql`is_paid and scheme is distinct from ${CHANNEL_SCHEME}`;
  const query = sql<ReadTotal>`
    select ${byDay ? day : sql`''`} as day, chain_id, asset,
      ${byPayee ? sql`pay_to` : sql`''::bytea`} as pay_to, state, count(*) as count,
      count(*) filter (where ${isPaid}) as paid_count,
      coalesce(sum(coalesce(settled_amount, amount)) filter (where ${isPaid}), 0)::text as paid_amount
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

/** A total as PostgreSQL returns it: large numbers are text. */
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
