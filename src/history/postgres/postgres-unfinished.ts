import { Inject, Injectable, Optional } from '@nestjs/common';
import { type Selectable, sql, type Transaction } from 'kysely';
import type { Hex } from 'viem';
import { type Overdue, UNFINISHED, type UnfinishedSettlements } from '../lost/unfinished.js';
import type { SettlementRow } from '../settlement-row.js';
import { hexOf } from './bytea.js';
import { ChangeFollower, writeAndTell } from './change-follower.js';
import { asked, Database } from './database.js';
import type { Tables } from './tables.js';

/** How long a settlement is postponed: doubling, up to ten minutes. */
const PAUSE = sql.raw(
  `least(interval '10 minutes', interval '20 seconds' * power(2, least(looks.looks, 10)))`,
);
const FIRST_PAUSE = sql.raw(`interval '20 seconds'`);
/** A settlement that was not taken for this long has ended, so its postponement is deleted. */
const FORGOTTEN = sql.raw(`interval '1 day'`);

/** {@link UnfinishedSettlements} in PostgreSQL. */
@Injectable()
export class PostgresUnfinished implements UnfinishedSettlements {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Optional() @Inject(ChangeFollower) private readonly follower?: ChangeFollower,
  ) {}

  async take(chainId: number, overdue: Overdue, most: number): Promise<readonly SettlementRow[]> {
    const { db } = this.database;
    const { rows } = await asked(
      sql<{ id: Buffer }>`
        with due as (
          select settled.id from x402.settlements settled
            left join x402.unfinished_looks put_off on put_off.id = settled.id
          where settled.chain_id = ${chainId} and settled.version_ms <= ${overdue.writtenMs} and ${isDue(overdue)}
            and (put_off.again_at is null or put_off.again_at <= now())
          order by settled.deadline limit ${most}),
        over as (
          delete from x402.unfinished_looks where again_at < now() - ${FORGOTTEN}
            and id not in (select id from due))
        insert into x402.unfinished_looks as looks (id, again_at, looks)
          select id, now() + ${FIRST_PAUSE}, 1 from due
        on conflict (id) do update set again_at = now() + ${PAUSE}, looks = looks.looks + 1
          where looks.again_at <= now()
        returning id`.execute(db),
    );
    if (rows.length === 0) return [];
    const ids = rows.map(({ id }) => id);
    const found = await asked(
      db
        .selectFrom('settlements as settled')
        .selectAll()
        .where('chain_id', '=', chainId)
        .where(isDue(overdue))
        .where('id', 'in', ids)
        .orderBy('deadline')
        .execute(),
    );
    return found.map(rowAsWritten);
  }

  replace(was: SettlementRow, now: SettlementRow): Promise<boolean> {
    const { follower } = this;
    return asked(
      this.database.db.transaction().execute(async (transaction) => {
        if (await isCredited(transaction, now)) return false;
        const write = () => replace(transaction, was, now);
        const written =
          follower === undefined
            ? await write()
            : await writeAndTell(transaction, [now], { follower, write });
        return written === 1;
      }),
    );
  }

  async ownTransactions(chainId: number, most: number): Promise<readonly Hex[]> {
    const rows = await asked(
      this.database.db
        .selectFrom('settlements')
        .select('transaction')
        .where('chain_id', '=', chainId)
        .where('state', 'in', ['included', 'finalized'])
        .where('block_number', 'is not', null)
        .where('transaction', 'is not', null)
        .orderBy('block_number', 'desc')
        .limit(most)
        .execute(),
    );
    return [...new Set(rows.flatMap(({ transaction }) => hexOf(transaction) ?? []))];
  }
}

const states = () => sql.join(UNFINISHED.map((state) => sql.lit(state)));

const isDue = ({ deadline, epoch }: Overdue) => sql<boolean>`(
  settled.state in (${states()}) and settled.deadline <= ${deadline}
  or settled.state = 'included' and settled.epoch < ${epoch})`;

/** Whether the log already pays for another settlement, because one log pays for one settlement. */
async function isCredited(
  db: Transaction<Tables>,
  { id, transaction, log_index, is_paid }: SettlementRow,
): Promise<boolean> {
  if (!is_paid || transaction === null || log_index === null) return false;
  // Two queries, because each half has its own index.
  const { rows } = await sql`
    select 1 from x402.settlements where transactions @> array[${transaction}]::bytea[]
      and transaction = ${transaction} and log_index = ${log_index} and is_paid and id <> ${id}
    union all
    select 1 from x402.settlements where transaction = ${transaction} and transactions is null
      and log_index = ${log_index} and is_paid and id <> ${id}
    limit 1`.execute(db);
  return rows.length > 0;
}

async function replace(
  db: Transaction<Tables>,
  was: SettlementRow,
  { id, claimed_at, ...values }: SettlementRow,
): Promise<number> {
  const { numUpdatedRows: written } = await db
    .updateTable('settlements')
    .set({ ...values, archived_at: sql<Date>`now()` })
    .where('id', '=', id)
    .where('claimed_at', '=', claimed_at)
    .where('epoch', '=', was.epoch)
    .where('version_ms', '=', was.version_ms)
    .where('version_sequence', '=', was.version_sequence)
    .executeTakeFirstOrThrow();
  return Number(written);
}

function rowAsWritten(row: Selectable<Tables['settlements']>): SettlementRow {
  return {
    ...row,
    chain_id: numberOf(row.chain_id),
    epoch: numberOf(row.epoch),
    version_ms: numberOf(row.version_ms),
    version_sequence: numberOf(row.version_sequence),
  };
}

/** The driver returns a bigint as text, whatever type the column has here. */
function numberOf(value: number | string): number {
  return Number(value);
}
