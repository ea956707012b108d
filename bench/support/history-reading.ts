import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { type Address, type Hex, toHex } from 'viem';
import { connectDatabase } from '../../src/history/postgres/database.js';
import { PostgresSettlementHistory } from '../../src/history/postgres/postgres-settlement-history.js';
import { encodeCursor } from '../../src/history/sellers/cursor.js';
import { filterOf } from '../../src/history/sellers/settlement-filter.js';
import { type ApiKeyRecord, createApiKey } from '../../src/operations/access/api-key.js';
import { Secret } from '../../src/platform/config/secret.js';
import type { HttpAnswer } from './connection.js';
import type { BooksRead, Counted, Exported } from './history-report.js';
import {
  bytesNamed,
  idOf,
  type LargeHistory,
  PAYEE_POWER,
  payeeOf,
  PAYEES,
  rankOf,
  transactionOf,
} from './history-rows.js';
import { CHAIN_ID } from './stage.js';
import { type Answering, cellOf, type ReadCell, type TimedGet, timeGets } from './timed-gets.js';

/** Those who ask for lists. */
interface Sellers {
  readonly records: readonly ApiKeyRecord[];
  /** The one that was paid most often. */
  readonly largest: Seller;
  /** As many as a key can name, by chance. */
  readonly chain: Seller;
  /** One payee each, drawn as payments are: the larger the more often. */
  readonly any: readonly Seller[];
}

interface Seller {
  readonly key: string;
  readonly payees: readonly Address[];
}

const PAYEES_OF_A_KEY = 100;
const SELLERS = 200;
const PAGE = 100;
const DAY_MS = 86_400_000;
const NETWORK = `eip155:${CHAIN_ID}`;
/** Of assets by rank: it has one in fifty settlements. */
const RARE_ASSET = 2;
const BOOKS_PAGE = 500;

export function sellersOf(history: LargeHistory, random: () => number): Sellers {
  const records: ApiKeyRecord[] = [];
  const seller = (id: string, ranks: readonly number[]): Seller => {
    const payees = [...new Set(ranks)].map((rank) => payeeOf(history, rank));
    const { key, record } = createApiKey(id, ['history'], payees);
    records.push(record);
    return { key, payees };
  };
  const drawn = (): number => rankOf(random(), PAYEES, PAYEE_POWER);
  const largest = seller('largest', [0]);
  const chain = seller(
    'chain',
    Array.from({ length: PAYEES_OF_A_KEY }, () => Math.floor(random() * PAYEES)),
  );
  const any = Array.from({ length: SELLERS }, (_, nth) => seller(`seller-${nth}`, [drawn()]));
  return { records, largest, chain, any };
}

/** Numbers from 0 to below 1 that are the same for one seed. */
export function randomOf(seed: string): () => number {
  let nth = 0;
  return () => {
    nth += 1;
    return bytesNamed(seed, 'random', nth).readUIntBE(0, 6) / 2 ** 48;
  };
}

/** A query, and how often it is sent at each level. */
export interface Reading {
  readonly what: string;
  readonly gets: readonly TimedGet[];
  /** Beyond it a target is missed; none where there is no target. */
  readonly targetMs?: number;
}

const LOOK_UP_MS = 10;
const PAGE_MS = 50;

/** @param count - requests of each kind. */
export async function readingsOf(
  history: LargeHistory,
  sellers: Sellers,
  databaseUrl: string,
  count: number,
): Promise<readonly Reading[]> {
  const random = randomOf(history.seed);
  const nth = (): number => Math.floor(random() * history.rows);
  const many = (one: () => TimedGet, of = count): readonly TimedGet[] =>
    Array.from({ length: of }, one);
  const time = (): number =>
    Math.floor(history.fromMs + (0.1 + 0.9 * random()) * (history.toMs - history.fromMs));
  const { largest, chain, any } = sellers;
  const authorizations = await authorizationsOf(databaseUrl, history, count, nth);
  const few = Math.max(1, Math.ceil(count / 4));
  const list = (seller: Seller, more: Readonly<Record<string, string>>, least = PAGE): TimedGet =>
    listOf(seller, { limit: String(PAGE), ...more }, least);
  const before = (seller: Seller): Readonly<Record<string, string>> => ({
    cursor: cursorAt(seller, time()),
  });
  // Small histories leave some payees without a settlement.
  const some = history.rows >= 100 * PAYEES ? 1 : 0;
  return [
    {
      what: 'nothing: `/health/live`',
      gets: many(() => ({
        path: '/health/live',
        problemOf: ({ status }) => (status === 200 ? undefined : `answered ${status}`),
      })),
    },
    {
      what: 'look-up by id',
      targetMs: LOOK_UP_MS,
      gets: many(() => {
        const id = idOf(history, nth());
        return { path: `/v2/settlements/${id}`, problemOf: isOf('settlementId', id) };
      }),
    },
    {
      what: 'look-up by transaction',
      targetMs: LOOK_UP_MS,
      gets: many(() => {
        const hash = transactionOf(history, nth());
        return {
          path: `/v2/settlements?transaction=${hash}`,
          problemOf: firstIsOf('transaction', hash),
        };
      }),
    },
    {
      what: 'look-up by authorization',
      targetMs: LOOK_UP_MS,
      gets: authorizations,
    },
    {
      what: 'look-up of an id that there is not',
      targetMs: LOOK_UP_MS,
      gets: many(() => ({
        path: `/v2/settlements/${randomBytes(32).toString('base64url')}`,
        problemOf: ({ status }) => (status === 404 ? undefined : `answered ${status}`),
      })),
    },
    {
      what: 'page: largest payee, newest',
      targetMs: PAGE_MS,
      gets: many(() => list(largest, {}), few),
    },
    {
      what: 'page: largest payee, anywhere by cursor',
      targetMs: PAGE_MS,
      gets: many(() => list(largest, before(largest)), few),
    },
    {
      what: 'page: any payee, newest',
      targetMs: PAGE_MS,
      gets: many(() => list(any[Math.floor(random() * any.length)] ?? largest, {}, some), few),
    },
    {
      what: 'page: a key of 100 payees, anywhere by cursor',
      targetMs: PAGE_MS,
      gets: many(() => list(chain, before(chain), some), few),
    },
    {
      what: 'page: largest payee, what was reverted',
      targetMs: PAGE_MS,
      gets: many(() => list(largest, { state: 'reverted' }, some), few),
    },
    {
      what: 'page: largest payee, an asset of 2 %',
      targetMs: PAGE_MS,
      gets: many(() => list(largest, { asset: assetOf(history, RARE_ASSET) }, 1), few),
    },
    {
      what: 'page: largest payee, an asset it was never paid in',
      gets: many(() => list(largest, { asset: assetOf(history, 99) }, 0), Math.ceil(few / 25)),
    },
  ];
}

/** @returns the cells, and what was wrong with answers. */
export async function readAll(
  answering: Answering,
  readings: readonly Reading[],
  levels: readonly number[],
): Promise<{ readonly cells: readonly ReadCell[]; readonly problems: readonly string[] }> {
  const cells: ReadCell[] = [];
  const problems: string[] = [];
  for (const { what, gets } of readings) {
    // The first ones warm connections and plans; each level sends queries that were not sent before.
    const [warming = [], ...portions] = portionsOf(gets, levels.length);
    await timeGets(what, answering, Math.max(...levels), warming);
    for (const [index, level] of levels.entries()) {
      const timed = await timeGets(what, answering, level, portions[index] ?? []);
      cells.push(timed.cell);
      problems.push(...timed.problems);
    }
    console.log(`  ${what}`);
  }
  return { cells, problems };
}

/** A tenth, and the rest in equal parts. */
export function portionsOf<T>(all: readonly T[], parts: number): readonly (readonly T[])[] {
  const first = Math.ceil(all.length / 10);
  const each = Math.floor((all.length - first) / parts);
  return [
    all.slice(0, first),
    ...Array.from({ length: parts }, (_, part) =>
      all.slice(first + part * each, first + (part + 1) * each),
    ),
  ];
}

/** How long totals take, each the median of three. */
export async function countTotals(
  url: string,
  history: LargeHistory,
  { largest, chain }: Sellers,
): Promise<readonly Counted[]> {
  const [from, to] = [history.fromMs, history.toMs].map((ms) => new Date(ms).toISOString());
  const month = new Date(history.toMs - 30 * DAY_MS).toISOString();
  const asked = [
    { what: 'largest payee, 30 days, by day', seller: largest, from: month, groupBy: 'day' },
    { what: 'largest payee, all months', seller: largest, from, groupBy: 'asset' },
    { what: '100 payees, all months, by payee', seller: chain, from, groupBy: 'payee' },
  ];
  const counted: Counted[] = [];
  for (const { what, seller, from: since, groupBy } of asked) {
    const query = new URLSearchParams({ from: since ?? '', to: to ?? '', groupBy });
    const times: number[] = [];
    let settlements = 0;
    for (let run = 0; run < 3; run += 1) {
      const sentAt = performance.now();
      const answer = await fetch(`${url}/v2/settlements/totals?${query.toString()}`, {
        headers: { 'X-API-Key': seller.key },
      });
      const body = (await answer.json()) as { readonly totals?: readonly Total[] };
      times.push(performance.now() - sentAt);
      if (body.totals === undefined) throw new Error(`${what}: answered ${answer.status}`);
      settlements = body.totals
        .flatMap(({ states }) => Object.values(states))
        .reduce((sum, count) => sum + Number(count), 0);
    }
    const [, middle = 0] = times.sort((a, b) => a - b);
    counted.push({ what, settlements, ms: middle });
  }
  return counted;
}

interface Total {
  readonly states: Readonly<Record<string, string>>;
}

/** Each format of all that the largest payee was paid, read as fast as it comes. */
export async function exportAll(
  url: string,
  { key }: Seller,
  isWhole: (rows: number) => boolean,
): Promise<readonly Exported[]> {
  const exported: Exported[] = [];
  for (const format of ['csv', 'ndjson']) {
    const sentAt = performance.now();
    const answer = await fetch(`${url}/v2/settlements/export?format=${format}`, {
      headers: { 'X-API-Key': key },
    });
    if (!answer.ok || answer.body === null) throw new Error(`${format}: ${answer.status}`);
    let [bytes, lines, firstMs] = [0, 0, 0];
    for await (const piece of answer.body as AsyncIterable<Uint8Array>) {
      if (bytes === 0) firstMs = performance.now() - sentAt;
      bytes += piece.length;
      for (const byte of piece) if (byte === NEW_LINE) lines += 1;
    }
    const seconds = (performance.now() - sentAt) / 1000;
    const rows = format === 'csv' ? lines - 1 : lines;
    if (!isWhole(rows)) throw new Error(`${format}: ${rows} rows`);
    exported.push({ format, rows, seconds, firstMs, mebibytes: bytes / 2 ** 20 });
  }
  return exported;
}

const NEW_LINE = 10;

/** What a reconciliation asks the database for one day: the chain is left out. */
export async function readBooks(databaseUrl: string, day: number): Promise<BooksRead> {
  const database = connectDatabase(new Secret(databaseUrl));
  try {
    const books = new PostgresSettlementHistory(database);
    const { rows } = await database.pool.query<{ first: string; last: string }>(
      `select min(block_number) as first, max(block_number) as last from x402.settlements
        where claimed_at >= $1 and claimed_at < $2`,
      [new Date(day), new Date(day + DAY_MS)],
    );
    const [first, last] = [BigInt(rows[0]?.first ?? 0), BigInt(rows[0]?.last ?? 0)];
    const times: number[] = [];
    let settlements = 0;
    const timed = async <T>(page: Promise<T>): Promise<T> => {
      const begun = performance.now();
      const read = await page;
      times.push(performance.now() - begun);
      return read;
    };
    for (let from = first; from <= last;) {
      const page = await timed(books.ofBlocks(CHAIN_ID, { from, to: last }, BOOKS_PAGE));
      settlements += page.settlements.length;
      from = page.to + 1n;
    }
    const claimed = { fromMs: day, toMs: day + DAY_MS };
    let after: Parameters<PostgresSettlementHistory['withoutBlock']>[3];
    do {
      const page = await timed(books.withoutBlock(CHAIN_ID, claimed, first, after));
      settlements += page.settlements.length;
      after = page.next;
    } while (after !== undefined);
    const seconds = times.reduce((sum, ms) => sum + ms, 0) / 1000;
    return {
      settlements,
      seconds,
      cell: cellOf({ what: 'books', concurrency: 1, seconds, processorMs: {} }, times),
    };
  } finally {
    await database.db.destroy();
  }
}

// ------------------------------------------------------------------ requests and what they expect

function listOf(
  { key, payees }: Seller,
  query: Readonly<Record<string, string>>,
  least: number,
): TimedGet {
  const own = new Set<unknown>(payees);
  return {
    path: `/v2/settlements?${new URLSearchParams(query).toString()}`,
    headers: { 'X-API-Key': key },
    problemOf: ({ status, body }) => {
      const { settlements } = body as { readonly settlements?: readonly Listed[] };
      if (status !== 200 || settlements === undefined) return `answered ${status}`;
      if (settlements.length < least) return `pages of ${settlements.length}`;
      const isOwn = settlements.every(({ payment }) => own.has(payment.payTo.toLowerCase()));
      return isOwn ? undefined : "pages with somebody else's";
    },
  };
}

interface Listed {
  readonly payment: { readonly payTo: string };
}

function cursorAt({ payees }: Seller, ms: number): string {
  const filter = filterOf({}, new Set(payees));
  if (filter === undefined) throw new Error('a seller without payees');
  return encodeCursor({ claimedAt: new Date(ms), id: Buffer.alloc(32, 0xff) }, filter);
}

const isOf =
  (name: string, value: string) =>
  ({ status, body }: HttpAnswer): string | undefined =>
    (body as Readonly<Record<string, unknown>>)[name] === value
      ? undefined
      : `answered ${status} with another one`;

const firstIsOf =
  (name: string, value: string) =>
  ({ status, body }: HttpAnswer): string | undefined => {
    const { settlements } = body as { readonly settlements?: readonly object[] };
    return isOf(name, value)({ status, body: settlements?.[0] ?? {} });
  };

function assetOf({ seed }: LargeHistory, rank: number): Hex {
  return toHex(bytesNamed(seed, 'asset', rank).subarray(0, 20));
}

interface Authorized {
  readonly id: Buffer;
  readonly asset: Buffer;
  readonly payer: Buffer;
  readonly nonce: string;
}

/** The names of some authorizations, which the database has drawn. */
async function authorizationsOf(
  databaseUrl: string,
  history: LargeHistory,
  count: number,
  nth: () => number,
): Promise<readonly TimedGet[]> {
  const ids = Array.from({ length: count }, () => Buffer.from(idOf(history, nth()), 'base64url'));
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    const { rows } = await client.query<Authorized>(
      `select id, asset, payer, authorization_nonce as nonce
        from x402.settlement_ids join x402.settlements using (id, claimed_at)
        where id = any($1::bytea[])`,
      [ids],
    );
    return rows.map(({ id, asset, payer, nonce }) => {
      const query = { network: NETWORK, asset: toHex(asset), payer: toHex(payer), nonce };
      return {
        path: `/v2/settlements?${new URLSearchParams(query).toString()}`,
        problemOf: isOf('settlementId', id.toString('base64url')),
      };
    });
  } finally {
    await client.end();
  }
}
