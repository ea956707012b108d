import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import pg from 'pg';
import { AppConfig } from '../config/app-config.js';
import type { Secret } from '../config/secret.js';

/** The configuration of a pool. */
export interface PoolUse {
  /** `application_name` of its connections. */
  readonly name: string;
  /** Maximum connections. They are opened on demand, and closed after ten idle seconds. */
  readonly most: number;
  /** Time limit for getting a connection. */
  readonly connectMs: number;
  /** Time limit of a statement in the database. */
  readonly statementMs: number;
  /** Time limit of a statement in this process; by default a second after the limit in the database. */
  readonly queryMs?: number;
  /** Whether the database refuses changes, except in transactions that declare writes. */
  readonly isReadOnly?: boolean;
  /**
   * For lists that are read page by page. The planner assumes an average payee. For a payee with many settlements it
   * would read and sort all of them for each page.
   */
  readonly readsInOrder?: boolean;
}

/** Background work may take longer than requests. */
const PATIENT = { connectMs: 3000, statementMs: 10_000 };

/**
 * The pools of a process. Work that slow statements of other work must not delay has its own pool; the rest shares
 * one. `docs/history.md` has the same table.
 */
export const POOLS = {
  /** A settle request waits half a second for a look-up. At most 64 look-ups of about a millisecond run at once. */
  lookUps: {
    name: 'x402-look-ups',
    most: 8,
    connectMs: 500,
    statementMs: 500,
    queryMs: 500,
    isReadOnly: true,
  },
  /** The archiver and the copy of the audit log each run one statement at a time. While they wait, Redis fills up. */
  archive: { name: 'x402-history', most: 2, ...PATIENT },
  /**
   * Webhooks, reconciliation, lost settlements and the catalogue indexer, all of which retry. Webhooks deliver to 32
   * endpoints at once by short statements; each of the others runs one to five.
   */
  background: { name: 'x402-background', most: 6, ...PATIENT },
  /** Lists for sellers, which are waiting. A page reads an index. */
  lists: {
    name: 'x402-lists',
    most: 4,
    connectMs: 1000,
    statementMs: 3000,
    readsInOrder: true,
  },
  /** Two exports may read a page at once, without delaying lists. */
  exports: {
    name: 'x402-exports',
    most: 2,
    connectMs: 1000,
    statementMs: 15_000,
    readsInOrder: true,
  },
  /** Sums have no order, so the planner is free. Two sums keep two cores of the database busy. */
  totals: { name: 'x402-totals', most: 2, connectMs: 1000, statementMs: 15_000 },
  /** Searches of agents, which are waiting and run two statements at once; and statements of payees. */
  catalogue: { name: 'x402-catalogue', most: 4, connectMs: 1000, statementMs: 3000 },
  /** Operators must not delay sellers and buyers. A page of the console runs up to four queries at once. */
  operators: {
    name: 'x402-operators',
    most: 4,
    connectMs: 1000,
    statementMs: 5000,
    isReadOnly: true,
  },
  /** Sums for operators, one after another. */
  operatorTotals: {
    name: 'x402-operators-sums',
    most: 1,
    connectMs: 1000,
    statementMs: 15_000,
    isReadOnly: true,
  },
} as const satisfies Readonly<Record<string, PoolUse>>;

export type PoolName = keyof typeof POOLS;

const READ_ONLY = '-c default_transaction_read_only=on';
/** Statements take milliseconds; compiling them first would take longer. */
const NOT_COMPILED = '-c jit=off';
const IN_ORDER = '-c enable_bitmapscan=off';

/** Connections are opened on demand, because settling must not depend on the database. */
export function openPool(url: Secret<string>, use: PoolUse): pg.Pool {
  const pool = new pg.Pool({
    connectionString: url.reveal(),
    keepAlive: true,
    application_name: use.name,
    max: use.most,
    connectionTimeoutMillis: use.connectMs,
    statement_timeout: use.statementMs,
    query_timeout: use.queryMs ?? use.statementMs + 1000,
    options: [
      NOT_COMPILED,
      ...(use.isReadOnly === true ? [READ_ONLY] : []),
      ...(use.readsInOrder === true ? [IN_ORDER] : []),
    ].join(' '),
  });
  // A lost idle connection is replaced; if that fails, the next statement fails.
  pool.on('error', () => undefined);
  // A connection that is lost in use also emits an error, which would end the process without a listener.
  pool.on('connect', (client) => client.on('error', () => undefined));
  return pool;
}

/** The PostgreSQL pools of this process, opened by name and closed last at a shutdown. */
@Injectable()
export class DatabasePools implements OnApplicationShutdown {
  readonly #pools = new Map<PoolName, pg.Pool>();

  constructor(private readonly config: AppConfig) {}

  /** The pool with this name, one per process. Requires `DATABASE_URL`. */
  of(name: PoolName): pg.Pool {
    const known = this.#pools.get(name);
    if (known !== undefined) return known;
    const { history } = this.config;
    if (history === undefined) throw new TypeError(`no DATABASE_URL for the pool ${name}`);
    const pool = openPool(history.databaseUrl, POOLS[name]);
    this.#pools.set(name, pool);
    return pool;
  }

  async onApplicationShutdown(): Promise<void> {
    await Promise.all([...this.#pools.values()].map((pool) => pool.end()));
  }
}
