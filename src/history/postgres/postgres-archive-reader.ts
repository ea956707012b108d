import { type Expression, type ExpressionBuilder, sql, type SqlBool } from 'kysely';
import type {
  ArchivedSettlement,
  ArchiveQuery,
} from '../../settlement/ledger/settlement-archive.js';
import type { ArchiveReader } from '../archive-reader.js';
import { type ArchivedRow, settlementOfRow } from '../archived-row.js';
import { bytesOf } from './bytea.js';
import { asked, type Database } from './database.js';
import type { Tables } from './tables.js';

/** Of one authorization, transaction or key there are a few; who makes more sees those that count most. */
const FOUND_MOST = 200;

type Where = (row: ExpressionBuilder<Tables, 'settlements'>) => Expression<SqlBool>;

/** {@link ArchiveReader} in PostgreSQL. */
export class PostgresArchiveReader implements ArchiveReader {
  constructor(private readonly database: Database) {}

  async find(query: ArchiveQuery): Promise<readonly ArchivedSettlement[]> {
    const rows = await asked(this.#rows(query));
    return rows.map((row) => settlementOfRow(row));
  }

  close(): Promise<void> {
    return this.database.db.destroy();
  }

  #rows(query: ArchiveQuery): Promise<readonly ArchivedRow[]> {
    switch (query.by) {
      case 'id':
        return this.#placed('id', query.chainId, query.ids);
      case 'authorization':
        return this.#placed('authorization_id', query.chainId, query.authorizationIds);
      case 'transaction': {
        const hash = bytesOf(query.transaction);
        return this.#where((row) =>
          row.and([
            row('chain_id', '=', query.chainId),
            row.or([
              sql<SqlBool>`transactions @> array[${hash}::bytea]`,
              row.and([row('transactions', 'is', null), row('transaction', '=', hash)]),
            ]),
          ]),
        );
      }
      case 'key':
        return this.#where((row) =>
          row.or([row('bound_key', '=', query.keyTag), row('sold_key', '=', query.keyTag)]),
        );
      case 'time':
        return this.#newest(query);
    }
  }

  /** The table of ids says in which month they are: one partition is read for each. */
  #placed(
    name: 'id' | 'authorization_id',
    chainId: number,
    tags: readonly string[],
  ): Promise<readonly ArchivedRow[]> {
    if (tags.length === 0) return Promise.resolve([]);
    return this.database.db
      .selectFrom('settlement_ids as place')
      .innerJoin('settlements', (join) =>
        join
          .onRef('settlements.id', '=', 'place.id')
          .onRef('settlements.claimed_at', '=', 'place.claimed_at'),
      )
      .where(
        `place.${name}`,
        'in',
        tags.map((tag) => Buffer.from(tag, 'base64url')),
      )
      .where('place.chain_id', '=', chainId)
      .selectAll('settlements')
      .orderBy(IS_SOLD, 'desc')
      .orderBy('settlements.is_paid', 'desc')
      .orderBy('settlements.claimed_at', 'desc')
      .limit(Math.max(FOUND_MOST, tags.length))
      .execute();
  }

  #where(where: Where): Promise<readonly ArchivedRow[]> {
    return this.database.db
      .selectFrom('settlements')
      .where(where)
      .selectAll()
      .orderBy(IS_SOLD, 'desc')
      .orderBy('is_paid', 'desc')
      .orderBy('claimed_at', 'desc')
      .limit(FOUND_MOST)
      .execute();
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

const IS_SOLD = sql`settlements.sale = 'sold'`;
