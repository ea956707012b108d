import { type Kysely, sql } from 'kysely';
import type { AuditFilter, AuditRow } from '../operators/operator-archive.js';
import { chainIdIn } from './database.js';
import type { Tables } from './tables.js';

/** What operators did, newest first. @returns `undefined` where `before` is the id of no action. */
export async function auditRows(
  db: Kysely<Tables>,
  filter: AuditFilter,
  before: string | undefined,
  most: number,
): Promise<readonly AuditRow[] | undefined> {
  const place = before === undefined ? undefined : await placeOf(db, before);
  if (before !== undefined && place === undefined) return undefined;
  const { chainId, by, subject, from, to } = filter;
  let query = db
    .selectFrom('audit')
    .select(['id', 'chain_id', 'happened_at', 'actor', 'action', 'subject', 'reason']);
  if (chainId !== undefined) query = query.where('chain_id', '=', chainId);
  if (by !== undefined) query = query.where('actor', '=', by);
  if (subject !== undefined) query = query.where('subject', '=', subject);
  if (from !== undefined) query = query.where('happened_at', '>=', from);
  if (to !== undefined) query = query.where('happened_at', '<', to);
  if (place !== undefined) {
    query = query.where(sql<boolean>`(happened_at, id) < (${place}::timestamptz, ${before}::uuid)`);
  }
  const rows = await query
    .orderBy('happened_at', 'desc')
    .orderBy('id', 'desc')
    .limit(most)
    .execute();
  return rows.map((row) => ({
    chainId: row.chain_id === null ? undefined : chainIdIn(row.chain_id),
    id: row.id,
    at: row.happened_at,
    by: row.actor,
    action: row.action,
    subject: row.subject,
    reason: row.reason ?? undefined,
  }));
}

async function placeOf(db: Kysely<Tables>, id: string): Promise<Date | undefined> {
  const row = await db
    .selectFrom('audit')
    .select('happened_at')
    .where('id', '=', id)
    .executeTakeFirst();
  return row?.happened_at;
}
