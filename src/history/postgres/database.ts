import { Kysely, PostgresDialect } from 'kysely';
import pg from 'pg';
import type { Secret } from '../../platform/config/secret.js';
import { FacilitatorError } from '../../protocol/errors.js';
import { ArchiveError } from '../archive.js';
import { SCHEMA, type Tables } from './tables.js';

export interface Database {
  readonly pool: pg.Pool;
  readonly db: Kysely<Tables>;
}

const CONNECT_MS = 3000;
/** What takes longer is given up, here and in the database. */
const STATEMENT_MS = 10_000;

const READ_ONLY = '-c default_transaction_read_only=on';
/** What is asked here takes milliseconds: to compile it first takes longer. */
const NOT_COMPILED = '-c jit=off';

/** How a connection is used. */
export interface ConnectionUse {
  /** What the database calls it. */
  readonly name: string;
  readonly most: number;
  readonly connectMs: number;
  readonly statementMs: number;
  /** Whether the database refuses every change that comes by it. */
  readonly isReadOnly?: boolean;
  /** Rows are read in the order of an index: see {@link IN_ORDER}. */
  readonly readsInOrder?: boolean;
}

/**
 * For lists that are read page by page. The planner knows how much a payee has on the average, and for one that has
 * much more it would read and sort all of it for each page.
 */
const IN_ORDER = '-c enable_bitmapscan=off';

const ARCHIVING: ConnectionUse = {
  name: 'x402-history',
  most: 4,
  connectMs: CONNECT_MS,
  statementMs: STATEMENT_MS,
};

export function connectDatabase(url: Secret<string>, use: ConnectionUse = ARCHIVING): Database {
  return connect(url, {
    application_name: use.name,
    max: use.most,
    connectionTimeoutMillis: use.connectMs,
    statement_timeout: use.statementMs,
    query_timeout: use.statementMs + 1000,
    options: [
      NOT_COMPILED,
      ...(use.isReadOnly === true ? [READ_ONLY] : []),
      ...(use.readsInOrder === true ? [IN_ORDER] : []),
    ].join(' '),
  });
}

/** For look-ups, of which none takes longer than so many milliseconds. It changes nothing. */
export function connectReader(url: Secret<string>, boundMs: number): Database {
  return connect(url, {
    application_name: 'x402-look-ups',
    max: 8,
    connectionTimeoutMillis: boundMs,
    statement_timeout: boundMs,
    query_timeout: boundMs,
    options: `${NOT_COMPILED} ${READ_ONLY}`,
  });
}

function connect(url: Secret<string>, options: pg.PoolConfig): Database {
  const pool = new pg.Pool({ connectionString: url.reveal(), keepAlive: true, ...options });
  // A connection that is lost while nobody uses it is replaced; whoever asks next is told if it cannot be.
  pool.on('error', () => undefined);
  // One that is lost while it is used fails its question, and says so a second time: heard by nobody, that would
  // end the process.
  pool.on('connect', (client) => client.on('error', () => undefined));
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) }).withSchema(SCHEMA);
  return { pool, db };
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
    // A fault of ours says nothing of the database, and neither does something else that is away.
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
