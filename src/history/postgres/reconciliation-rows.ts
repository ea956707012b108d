import type { Kysely } from 'kysely';
import type { Hex } from 'viem';
import type { NewestRun } from '../reconciliation/daily-reconciliation.js';
import { differencesIn, type Finding, isNote } from '../reconciliation/difference.js';
import type { Checkpoint, Reconciliation } from '../reconciliation/settlement-history.js';
import { bytesOf, hexOf } from './bytea.js';
import type { Tables } from './tables.js';

const ROWS_AT_ONCE = 500;

/** Stores a run and its differences in one transaction. */
export async function saveRun(db: Kysely<Tables>, run: Reconciliation): Promise<void> {
  await db.transaction().execute(async (transaction) => {
    const { id } = await transaction
      .insertInto('reconciliations')
      .values(runRow(run))
      .returning('id')
      .executeTakeFirstOrThrow();
    for (const rows of chunksOf(run.findings.map(differenceRow(id)))) {
      await transaction.insertInto('reconciliation_differences').values(rows).execute();
    }
    for (const rows of chunksOf(run.lanes.map(laneRow(id)))) {
      await transaction.insertInto('reconciliation_lanes').values(rows).execute();
    }
  });
}

/** The newest daily run. */
export async function newestRun(
  db: Kysely<Tables>,
  chainId: number,
): Promise<NewestRun | undefined> {
  const run = await db
    .selectFrom('reconciliations')
    .selectAll()
    .where('chain_id', '=', chainId)
    .where('started_by', '=', 'daily')
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst();
  if (run === undefined) return undefined;
  return {
    chainId,
    counts: new Map(Object.entries(run.counts)),
    settlements: Number(run.settlements),
    startedAt: run.started_at,
    finishedAt: run.finished_at,
    hasBlocks: run.last_block !== null,
    checkpoint: await newestCheckpoint(db, chainId),
  };
}

/** The end of the newest daily run whose blocks are known. */
async function newestCheckpoint(
  db: Kysely<Tables>,
  chainId: number,
): Promise<Checkpoint | undefined> {
  const run = await db
    .selectFrom('reconciliations')
    .select(['id', 'last_block', 'last_block_hash', 'window_to'])
    .where('chain_id', '=', chainId)
    .where('started_by', '=', 'daily')
    .where('last_block', 'is not', null)
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst();
  if (run?.last_block == null || run.last_block_hash === null) return undefined;
  const lanes = await db
    .selectFrom('reconciliation_lanes')
    .select(['lane', 'nonce_after', 'balance_after'])
    .where('reconciliation_id', '=', run.id)
    .execute();
  return {
    lastBlock: BigInt(run.last_block),
    lastHash: hexOf(run.last_block_hash),
    toMs: run.window_to.getTime(),
    lanes: new Map(
      lanes.flatMap(({ lane, nonce_after: nonce, balance_after: balance }) =>
        nonce === null || balance === null
          ? []
          : [[hexOf(lane), { nonce: Number(nonce), balanceWei: BigInt(balance) }] as const],
      ),
    ),
  };
}

function runRow(run: Reconciliation) {
  const { chainId, startedBy, window, blocks, settlements, transactions, counts } = run;
  return {
    chain_id: chainId,
    started_by: startedBy,
    settlements,
    transactions,
    differences: differencesIn(counts),
    window_from: new Date(window.fromMs),
    window_to: new Date(window.toMs),
    first_block: blocks?.from.toString() ?? null,
    last_block: blocks?.to.toString() ?? null,
    last_block_hash: bytesOrNull(blocks?.lastHash),
    counts: JSON.stringify(Object.fromEntries(counts)),
    started_at: run.startedAt,
    finished_at: run.finishedAt,
  };
}

function differenceRow(id: string) {
  return (one: Finding, index: number) => ({
    reconciliation_id: id,
    number: index + 1,
    name: one.name,
    is_note: isNote(one),
    settlement_id:
      one.settlementId === undefined ? null : Buffer.from(one.settlementId, 'base64url'),
    transaction: bytesOrNull(one.transaction),
    log_index: one.logIndex ?? null,
    block_number: one.blockNumber?.toString() ?? null,
    lane: bytesOrNull(one.lane),
    expected: one.expected ?? null,
    found: one.found ?? null,
  });
}

function laneRow(id: string) {
  return (account: Reconciliation['lanes'][number]) => ({
    reconciliation_id: id,
    lane: bytesOf(account.lane),
    nonce_before: account.before?.nonce ?? null,
    nonce_after: account.after?.nonce ?? null,
    balance_before: account.before?.balanceWei.toString() ?? null,
    balance_after: account.after?.balanceWei.toString() ?? null,
    transactions: account.transactions,
    fees: account.feesWei.toString(),
    sent: account.sentWei.toString(),
    received: account.receivedWei?.toString() ?? null,
  });
}

function chunksOf<T>(rows: readonly T[]): T[][] {
  const chunks: T[][] = [];
  for (let at = 0; at < rows.length; at += ROWS_AT_ONCE) {
    chunks.push(rows.slice(at, at + ROWS_AT_ONCE));
  }
  return chunks;
}

function bytesOrNull(hex: Hex | undefined): Buffer | null {
  return hex === undefined ? null : bytesOf(hex);
}
