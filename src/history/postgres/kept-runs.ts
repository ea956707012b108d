import type { Kysely, Selectable } from 'kysely';
import type {
  KeptDifference,
  LaneAccount,
  ReconciliationRun,
} from '../operators/operator-archive.js';
import { hexOf } from './bytea.js';
import { chainIdIn } from './database.js';
import type { Tables } from './tables.js';

const RUN_COLUMNS = [
  'id',
  'chain_id',
  'started_by',
  'window_from',
  'window_to',
  'first_block',
  'last_block',
  'settlements',
  'transactions',
  'counts',
  'differences',
  'started_at',
  'finished_at',
] as const satisfies readonly (keyof Tables['reconciliations'])[];
type RunRow = Pick<Selectable<Tables['reconciliations']>, (typeof RUN_COLUMNS)[number]>;

/** Newest first. */
export async function runsBefore(
  db: Kysely<Tables>,
  asked: {
    readonly chainId: number | undefined;
    readonly before: string | undefined;
    readonly most: number;
  },
): Promise<readonly ReconciliationRun[]> {
  let query = db.selectFrom('reconciliations').select(RUN_COLUMNS);
  if (asked.chainId !== undefined) query = query.where('chain_id', '=', asked.chainId);
  if (asked.before !== undefined) query = query.where('id', '<', asked.before);
  const rows = await query.orderBy('id', 'desc').limit(asked.most).execute();
  return rows.map(runOfRow);
}

export async function runOf(
  db: Kysely<Tables>,
  id: string,
): Promise<ReconciliationRun | undefined> {
  const row = await db
    .selectFrom('reconciliations')
    .select(RUN_COLUMNS)
    .where('id', '=', id)
    .executeTakeFirst();
  return row && runOfRow(row);
}

export async function lanesOf(
  db: Kysely<Tables>,
  runId: string,
  most: number,
): Promise<readonly LaneAccount[]> {
  const rows = await db
    .selectFrom('reconciliation_lanes')
    .selectAll()
    .where('reconciliation_id', '=', runId)
    .orderBy('lane')
    .limit(most)
    .execute();
  return rows.map((row) => ({
    lane: hexOf(row.lane),
    nonceBefore: row.nonce_before ?? undefined,
    nonceAfter: row.nonce_after ?? undefined,
    balanceBeforeWei: row.balance_before ?? undefined,
    balanceAfterWei: row.balance_after ?? undefined,
    transactions: Number(row.transactions),
    feesWei: row.fees,
  }));
}

/** Differences of one run, in the order of their numbers. */
export async function differencesOfRun(
  db: Kysely<Tables>,
  { runId, after, most }: { readonly runId: string; readonly after: number; readonly most: number },
): Promise<readonly KeptDifference[]> {
  const rows = await db
    .selectFrom('reconciliation_differences')
    .selectAll()
    .where('reconciliation_id', '=', runId)
    .where('number', '>', after)
    .orderBy('number')
    .limit(most)
    .execute();
  return rows.map(differenceOf);
}

/** Differences of one settlement, the newest run first. */
export async function differencesOf(
  db: Kysely<Tables>,
  settlementId: Buffer,
  most: number,
): Promise<readonly KeptDifference[]> {
  const rows = await db
    .selectFrom('reconciliation_differences')
    .selectAll()
    .where('settlement_id', '=', settlementId)
    .orderBy('reconciliation_id', 'desc')
    .orderBy('number')
    .limit(most)
    .execute();
  return rows.map(differenceOf);
}

function runOfRow(row: RunRow): ReconciliationRun {
  const { first_block: first, last_block: last } = row;
  return {
    id: row.id,
    chainId: chainIdIn(row.chain_id),
    startedBy: row.started_by,
    from: row.window_from,
    to: row.window_to,
    counts: row.counts,
    blocks: first === null || last === null ? undefined : { first, last },
    settlements: Number(row.settlements),
    transactions: Number(row.transactions),
    differences: Number(row.differences),
    startedAt: row.started_at,
    finishedAt: row.finished_at,
  };
}

function differenceOf(row: Selectable<Tables['reconciliation_differences']>): KeptDifference {
  return {
    runId: row.reconciliation_id,
    number: row.number,
    name: row.name,
    isNote: row.is_note,
    settlementId: row.settlement_id?.toString('base64url'),
    transaction: hexOf(row.transaction),
    logIndex: row.log_index ?? undefined,
    block: row.block_number ?? undefined,
    lane: hexOf(row.lane),
    expected: row.expected ?? undefined,
    found: row.found ?? undefined,
  };
}
