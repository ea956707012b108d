import { Kysely, PostgresDialect } from 'kysely';
import type pg from 'pg';
import type { Secret } from '../../platform/config/secret.js';
import { openPool, POOLS, type PoolUse } from '../../platform/database/database-pools.js';
import { FacilitatorError } from '../../protocol/errors.js';
import { ArchiveError } from '../archive.js';
import { SCHEMA, type Tables } from './tables.js';

/** The tables of the history, by one pool: which one, the module of those says that inject it. */
export interface Database {
  readonly pool: pg.Pool;
  readonly db: Kysely<Tables>;
}

export const Database = Symbol('Database');

/** The tables of the history, by a pool that its owner closes. */
export function databaseOn(pool: pg.Pool): Database {
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) }).withSchema(SCHEMA);
  return { pool, db };
}

/** Connections of its own for a command; closed by `db.destroy()`. */
export function connectDatabase(url: Secret<string>, use: PoolUse = POOLS.archive): Database {
  return databaseOn(openPool(url, use));
}

/** The driver gives a bigint as a text, whatever its column is said to be. */
export function chainIdIn(column: number | string): number {
  return Number(column);
}

/** Codes of the database and of connections: `08006`, `ECONNREFUSED`. */
export function codeOf(error: unknown): string | undefined {
  const code = (error as { readonly code?: unknown } | undefined)?.code;
  return typeof code === 'string' ? code : undefined;
}

/** Classes of what the database says while it is away, starts, ends or has no place. */
const AWAY = /^(08|53|57P|25006)/;
/** A schema, table or column that is not there. */
const OUTDATED = /^(3F000|42P01|42703)$/;

/** Turns every failure of the database into one the callers know. */
export async function asked<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    // A fault of this service says nothing about the database, and neither does an outage of
    // another system.
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
