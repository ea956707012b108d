import { Inject, Injectable } from '@nestjs/common';
import { type Kysely, type SelectQueryBuilder, sql } from 'kysely';
import type { Address, Hex } from 'viem';
import type { BlockRange } from '../../platform/chain/use-search/scan.js';
import type { DailyRuns, NewestRun } from '../reconciliation/daily-reconciliation.js';
import type { RecordedSettlement } from '../reconciliation/records.js';
import type {
  BlockPage,
  ClaimPage,
  ClaimPlace,
  Reconciliation,
  SettlementHistory,
  TimeSpan,
} from '../reconciliation/settlement-history.js';
import type { SettlementRow } from '../settlement-row.js';
import { bytesOf, hexOf } from './bytea.js';
import { asked, Database } from './database.js';
import { newestRun, saveRun } from './reconciliation-rows.js';
import type { Tables } from './tables.js';

const COLUMNS = [
  'id',
  'claimed_at',
  'state',
  'is_paid',
  'transaction',
  'block_number',
  'block_hash',
  'log_index',
  'method',
  'scheme',
  'asset',
  'payer',
  'pay_to',
  'amount',
  'settled_amount',
  'authorization_nonce',
  'transactions',
] as const satisfies readonly (keyof SettlementRow)[];
type Row = Pick<SettlementRow, (typeof COLUMNS)[number]>;

const CLAIM_PAGE = 500;
const HOUR_MS = 3_600_000;

/** {@link SettlementHistory} and {@link DailyRuns} in PostgreSQL. */
@Injectable()
export class PostgresSettlementHistory implements SettlementHistory, DailyRuns {
  readonly #db: Kysely<Tables>;

  constructor(@Inject(Database) { db }: Pick<Database, 'db'>) {
    this.#db = db;
  }

  async ofBlocks(chainId: number, { from, to }: BlockRange, most: number): Promise<BlockPage> {
    const of = (last: bigint) =>
      this.#rows()
        .where('chain_id', '=', chainId)
        .where('block_number', '>=', String(from))
        .where('block_number', '<=', String(last));
    // The block in which the page ends. A page holds whole blocks.
    const end = await asked(
      of(to)
        .clearSelect()
        .select('block_number')
        .orderBy('block_number')
        .offset(most - 1)
        .limit(1)
        .executeTakeFirst(),
    );
    const last = end?.block_number == null ? to : BigInt(end.block_number);
    const rows = await asked(of(last).orderBy('block_number').orderBy('id').execute());
    return { settlements: rows.map(recordedOf), to: last };
  }

  async withoutBlock(
    chainId: number,
    { fromMs, toMs }: TimeSpan,
    block: bigint,
    after?: ClaimPlace,
  ): Promise<ClaimPage> {
    const rows = await asked(
      this.#rows()
        .where('chain_id', '=', chainId)
        .where('claimed_at', '>=', new Date(fromMs - HOUR_MS))
        .where('claimed_at', '<', new Date(toMs))
        .where((is) =>
          is.or([
            is('block_number', 'is', null),
            is.and([
              is('block_number', '<', String(block)),
              is('claimed_at', '>=', new Date(fromMs)),
            ]),
          ]),
        )
        .$if(after !== undefined, (query) =>
          query.where(
            sql<boolean>`(claimed_at, id) > (${after?.claimedAt}, ${Buffer.from(after?.id ?? '', 'base64url')})`,
          ),
        )
        .orderBy('claimed_at')
        .orderBy('id')
        .limit(CLAIM_PAGE)
        .execute(),
    );
    const last = rows.length < CLAIM_PAGE ? undefined : rows.at(-1);
    return {
      settlements: rows.map(recordedOf),
      next: last && { claimedAt: last.claimed_at, id: last.id.toString('base64url') },
    };
  }

  async ofTransactions(
    chainId: number,
    hashes: readonly Hex[],
  ): Promise<readonly RecordedSettlement[]> {
    if (hashes.length === 0) return [];
    const all = sql.val(hashes.map((hash) => bytesOf(hash)));
    // Two queries, because each half has its own index.
    const carried = this.#rows()
      .where('chain_id', '=', chainId)
      .where(sql<boolean>`transactions && ${all}::bytea[]`);
    const paid = this.#rows()
      .where('chain_id', '=', chainId)
      .where(sql<boolean>`transaction = any(${all}::bytea[])`)
      .where('transactions', 'is', null);
    return (await asked(carried.unionAll(paid).execute())).map(recordedOf);
  }

  async lanes(chainId: number): Promise<readonly Address[]> {
    const rows = await asked(
      this.#db
        .selectFrom('reconciliation_lanes')
        .innerJoin('reconciliations', 'reconciliations.id', 'reconciliation_id')
        .select('lane')
        .distinct()
        .where('chain_id', '=', chainId)
        .execute(),
    );
    return rows.map(({ lane }) => hexOf(lane));
  }

  save(run: Reconciliation): Promise<void> {
    return asked(saveRun(this.#db, run));
  }

  newest(chainId: number): Promise<NewestRun | undefined> {
    return asked(newestRun(this.#db, chainId));
  }

  async lease(chainId: number, holder: string, ms: number): Promise<boolean> {
    const until = sql<Date>`now() + ${ms} * interval '1 millisecond'`;
    const { numInsertedOrUpdatedRows: held } = await asked(
      this.#db
        .insertInto('reconciliation_leases')
        .values({ chain_id: chainId, holder, until })
        .onConflict((conflict) =>
          conflict
            .column('chain_id')
            .doUpdateSet({ holder, until })
            .where((is) =>
              is.or([
                is('reconciliation_leases.holder', '=', holder),
                is('reconciliation_leases.until', '<', sql<Date>`now()`),
              ]),
            ),
        )
        .executeTakeFirstOrThrow(),
    );
    return held === 1n;
  }

  async release(chainId: number, holder: string): Promise<void> {
    await asked(
      this.#db
        .deleteFrom('reconciliation_leases')
        .where('chain_id', '=', chainId)
        .where('holder', '=', holder)
        .execute(),
    );
  }

  #rows(): SelectQueryBuilder<Tables, 'settlements', Row> {
    return this.#db.selectFrom('settlements').select([...COLUMNS]);
  }
}

function recordedOf(row: Row): RecordedSettlement {
  const amount = row.settled_amount ?? row.amount;
  return {
    id: row.id.toString('base64url'),
    state: row.state,
    isPaid: row.is_paid,
    transaction: hexOf(row.transaction),
    blockNumber: numberOf(row.block_number),
    blockHash: hexOf(row.block_hash),
    logIndex: row.log_index ?? undefined,
    method: row.method ?? undefined,
    ...(row.scheme !== null && { scheme: row.scheme }),
    asset: hexOf(row.asset),
    payer: hexOf(row.payer),
    payTo: hexOf(row.pay_to),
    amount: numberOf(amount),
    nonce: numberOf(row.authorization_nonce),
    transactions: row.transactions?.map((hash) => hexOf(hash)) ?? [],
  };
}

function numberOf(text: string | null): bigint | undefined {
  return text === null ? undefined : BigInt(text);
}
