import { Inject, Injectable } from '@nestjs/common';
import type pg from 'pg';
import type {
  ArchivedSettlement,
  ArchiveQuery,
} from '../../settlement/ledger/settlement-archive.js';
import type { ArchiveReader } from '../archive-reader.js';
import { type ArchivedRow, settlementOfRow } from '../archived-row.js';
import { bytesOf } from './bytea.js';
import { asked, Database } from './database.js';
import { SCHEMA } from './tables.js';

/** Most results of one look-up. An authorization or a transaction has only a few settlements. */
const FOUND_MOST = 200;

/** {@link ArchiveReader} in PostgreSQL. */
@Injectable()
export class PostgresArchiveReader implements ArchiveReader {
  constructor(@Inject(Database) private readonly database: Database) {}

  async find(query: ArchiveQuery): Promise<readonly ArchivedSettlement[]> {
    const rows = await asked(this.#rows(query));
    return rows.map((row) => settlementOfRow(row));
  }

  #rows(query: ArchiveQuery): Promise<readonly ArchivedRow[]> {
    const { pool } = this.database;
    switch (query.by) {
      case 'id':
        return this.#placed(BY_ID, query.chainId, query.ids);
      case 'authorization':
        return this.#placed(BY_AUTHORIZATION, query.chainId, query.authorizationIds);
      case 'transaction':
        return prepared(pool, BY_TRANSACTION, [query.chainId, bytesOf(query.transaction)]);
      case 'key':
        return prepared(pool, BY_KEY, [query.keyTag]);
      case 'time':
        return this.#newest(query);
    }
  }

  #placed(
    statement: Statement,
    chainId: number,
    tags: readonly string[],
  ): Promise<readonly ArchivedRow[]> {
    if (tags.length === 0) return Promise.resolve([]);
    const names = tags.map((tag) => Buffer.from(tag, 'base64url'));
    return prepared(this.database.pool, statement, [
      chainId,
      names,
      Math.max(FOUND_MOST, tags.length),
    ]);
  }

  #newest({
    chainId,
    payer,
    most,
  }: Extract<ArchiveQuery, { by: 'time' }>): Promise<readonly ArchivedRow[]> {
    return this.database.db
      .selectFrom('settlements')
      .where('chain_id', '=', chainId)
      .$if(payer !== undefined, (all) =>
        payer === undefined ? all : all.where('payer', '=', bytesOf(payer)),
      )
      .selectAll()
      .orderBy('claimed_at', 'desc')
      .limit(most)
      .execute();
  }
}

const BEST_FIRST = `order by (settlements.sale = 'sold') desc, settlements.is_paid desc,
  settlements.claimed_at desc`;

/** The table of ids names the month of a settlement, so that one partition is read for each id. */
const placedBy = (column: string): string => `
  select settlements.* from ${SCHEMA}.settlement_ids place
  join ${SCHEMA}.settlements on settlements.id = place.id and settlements.claimed_at = place.claimed_at
  where place.${column} = any($2::bytea[]) and place.chain_id = $1 ${BEST_FIRST} limit $3`;

const where = (conditions: string): string =>
  `select settlements.* from ${SCHEMA}.settlements where ${conditions} ${BEST_FIRST} limit ${FOUND_MOST}`;

const BY_ID: Statement = { name: 'by-id', text: placedBy('id') };
const BY_AUTHORIZATION: Statement = {
  name: 'by-authorization',
  text: placedBy('authorization_id'),
};
const BY_TRANSACTION: Statement = {
  name: 'by-transaction',
  text: where(`chain_id = $1 and
    (transactions @> array[$2::bytea] or (transactions is null and transaction = $2))`),
};
const BY_KEY: Statement = { name: 'by-key', text: where('bound_key = $1 or sold_key = $1') };

/** A prepared query. Planning it over every month takes longer than its execution, so each connection plans it once. */
interface Statement {
  /** Unique per text: a connection caches plans by name. */
  readonly name: string;
  readonly text: string;
}

/** @param values - `$1` and so on. */
async function prepared<T extends pg.QueryResultRow>(
  pool: pg.Pool,
  { name, text }: Statement,
  values: readonly unknown[],
): Promise<readonly T[]> {
  const { rows } = await pool.query<T>({ name, text, values: [...values] });
  return rows;
}
