import { Kysely, PostgresDialect } from 'kysely';
import type pg from 'pg';
import type { Secret } from '../../platform/config/secret.js';
import { openPool, POOLS, type PoolUse } from '../../platform/database/database-pools.js';
import { FacilitatorError } from '../../protocol/errors.js';
import { ArchiveError } from '../archive.js';
import { SCHEMA, type Tables } from './tables.js';

/** The tables of the history by one pool. The injecting module names the pool. */
export interface Database {
  readonly pool: pg.Pool;
  readonly db: Kysely<Tables>;
}

export const Database = Symbol('Database');

/** The tables of the history on a pool that the caller closes. */
export function databaseOn(pool: pg.Pool): Database {
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) }).withSchema(SCHEMA);
  return { pool, db };
}

/** Connections for a command line program; `db.destroy()` closes them. */
export function connectDatabase(url: Secret<string>, use: PoolUse = POOLS.archive): Database {
  return databaseOn(openPool(url, use));
}

/** The driver returns a bigint as text, whatever type the column has here. */
export function chainIdIn(column: number | string): number {
  return Number(column);
}

/** SQLSTATE or error code of the connection, such as `08006` or `ECONNREFUSED`. */
export function codeOf(error: unknown): string | undefined {
  const code = (error as { readonly code?: unknown } | undefined)?.code;
  return typeof code === 'string' ? code : undefined;
}

/** SQLSTATE classes of a database that is away, starting, stopping or full. */
const AWAY = /^(08|53|57P|25006)/;
/** A missing schema, table or column. */
const OUTDATED = /^(3F000|42P01|42703)$/;

/** Turns every failure of the database into an `ArchiveError`. */
export async function asked<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    // Errors of this service and of other systems say nothing about the database.
    if (error instanceof FacilitatorError || error instanceof TypeError) throw error;
    const code = codeOf(error);
    if (code === undefined || !/^[0-9A-Z]{5}$/.test(code) || AWAY.test(code)) {
      throw new ArchiveError('database_unreachable', code, error);
    }
    throw new ArchiveError(
      OUTDATED.test(code) ? 'schema_outdated' : 'database_failed',
      code,
      error,
    );
  }
}
