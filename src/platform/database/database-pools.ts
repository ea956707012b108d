import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import pg from 'pg';
import { AppConfig } from '../config/app-config.js';
import type { Secret } from '../config/secret.js';

/** How the connections of a pool are used. */
export interface PoolUse {
  /** `application_name` of its connections. */
  readonly name: string;
  /** Connections at most. They are opened when they are needed, and closed after ten seconds without use. */
  readonly most: number;
  /** How long a connection is waited for. */
  readonly connectMs: number;
  /** A statement that takes longer is given up in the database. */
  readonly statementMs: number;
  /** A statement that takes longer is given up here; a second after the database where it is absent. */
  readonly queryMs?: number;
  /** Whether the database refuses changes, but for transactions that say they write. */
  readonly isReadOnly?: boolean;
  /**
   * For lists that are read page by page. The planner knows how much a payee has on the average, and for one that has
   * much more it would read and sort all of it for each page.
   */
  readonly readsInOrder?: boolean;
}

/** Background work may take longer than requests. */
const PATIENT = { connectMs: 3000, statementMs: 10_000 };

/**
 * The pools of a process. Work that a slow statement of other work must not delay has a pool of its own; the rest
 * shares one. `docs/history.md` has the same table.
 */
export const POOLS = {
  /** A settle waits half a second for a look-up. 64 look-ups of a millisecond are under way at most. */
  lookUps: {
    name: 'x402-look-ups',
    most: 8,
    connectMs: 500,
    statementMs: 500,
    queryMs: 500,
    isReadOnly: true,
  },
  /** The archiver asks one thing at a time, and so does the copy of the audit. Redis fills up while they wait. */
  archive: { name: 'x402-history', most: 2, ...PATIENT },
  /**
   * Webhooks, reconciliation, lost settlements and the catalogue's writer. Each repeats what failed. Webhooks of 32
   * endpoints are delivered at once by short statements; the others have one to five under way.
   */
  background: { name: 'x402-background', most: 6, ...PATIENT },
  /** Sellers wait for a page of a list, which reads an index. */
  lists: {
    name: 'x402-lists',
    most: 4,
    connectMs: 1000,
    statementMs: 3000,
    readsInOrder: true,
  },
  /** Two exports ask for a page at the same time, and delay no list. */
  exports: {
    name: 'x402-exports',
    most: 2,
    connectMs: 1000,
    statementMs: 15_000,
    readsInOrder: true,
  },
  /** A sum has no order: the database reads as it likes. Two keep a core of the database busy each. */
  totals: { name: 'x402-totals', most: 2, connectMs: 1000, statementMs: 15_000 },
  /** Agents wait for a search, which is two statements at once; payees write statements by it. */
  catalogue: { name: 'x402-catalogue', most: 4, connectMs: 1000, statementMs: 3000 },
  /** Operators delay no seller and no buyer. A page of theirs asks up to four things at once. */
  operators: {
    name: 'x402-operators',
    most: 4,
    connectMs: 1000,
    statementMs: 5000,
    isReadOnly: true,
  },
  /** Sums of operators, one after the other. */
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
/** Statements take milliseconds: to compile one first takes longer. */
const NOT_COMPILED = '-c jit=off';
const IN_ORDER = '-c enable_bitmapscan=off';

/** Nothing is connected to before it is used: what settles must not depend on the database. */
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
  // A lost idle connection is replaced; the next statement fails if it cannot be.
  pool.on('error', () => undefined);
  // A connection that is lost in use fails its statement and emits an error too, which would end the process.
  pool.on('connect', (client) => client.on('error', () => undefined));
  return pool;
}

/** The PostgreSQL connections of this process: opened by name, closed together when everything else has ended. */
@Injectable()
export class DatabasePools implements OnApplicationShutdown {
  readonly #pools = new Map<PoolName, pg.Pool>();

  constructor(private readonly config: AppConfig) {}

  /** The pool of that name, one in a process; needs `DATABASE_URL`. */
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
