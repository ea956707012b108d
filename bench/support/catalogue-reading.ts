import type pg from 'pg';
import type { Address } from 'viem';
import { cursorOf } from '../../src/discovery/asking/query.js';
import { caip2Of } from '../../src/protocol/payment/network.js';
import {
  assetOf,
  ASSETS,
  CHAINS,
  COMMON_WORD,
  hostsOf,
  hostWord,
  type LargeCatalogue,
  type MadeEntry,
  madeEntry,
  WORDS,
} from './catalogue-rows.js';
import type { HttpAnswer } from './connection.js';
import { randomOf, type Reading } from './history-reading.js';
import type { TimedGet } from './timed-gets.js';

const TARGET_MS = 50;
/** Of a list, as clients get it that ask for no number; of a search. */
const PAGE = 100;
const FOUND = 20;
/** Entries before the page that is reached by a cursor. */
const FAR = 100 * PAGE;
/** Words by how often they are said: neither in all entries nor in a few. */
const MIDDLE = { from: 40, to: 400 };
const TYPO_LENGTH = 7;

type Query = Readonly<Record<string, string>>;

interface Item {
  readonly resource: string;
  readonly type: string;
  readonly network: string;
  readonly payTo: string;
  readonly accepts: readonly { readonly asset: string; readonly amount: string }[];
}

/**
 * What buyers and agents ask a catalogue, each drawn at random.
 *
 * @param count - requests of each kind.
 */
export async function catalogueReadings(
  catalogue: LargeCatalogue,
  pool: pg.Pool,
  count: number,
): Promise<readonly Reading[]> {
  const random = randomOf(`${catalogue.seed} reading`);
  const below = (bound: number): number => Math.floor(random() * bound);
  const any = (): MadeEntry => madeEntry(catalogue, below(catalogue.entries));
  const many = (one: () => TimedGet): readonly TimedGet[] => Array.from({ length: count }, one);
  const far = await positionsFrom(pool, Math.min(FAR, catalogue.entries >> 1), count);
  const largest = await largestPayee(pool);
  const word = (): string => WORDS[MIDDLE.from + below(MIDDLE.to - MIDDLE.from)] ?? '';
  const listed = (what: string, query: () => Query, isIt?: IsIt): Reading => ({
    what: `list: ${what}`,
    targetMs: TARGET_MS,
    gets: many(() => asked('resources', 'items', query(), isIt)),
  });
  const found = (what: string, query: () => Query, isIt?: IsIt): Reading => ({
    what: `search: ${what}`,
    targetMs: TARGET_MS,
    gets: many(() => asked('search', 'resources', { limit: String(FOUND), ...query() }, isIt)),
  });
  const ofPayee = (payTo: Address): IsIt => ({
    isIt: (item) => item.payTo.toLowerCase() === payTo,
  });
  return [
    {
      what: 'nothing: `/health/live`',
      gets: many(() => ({
        path: '/health/live',
        problemOf: ({ status }) => (status === 200 ? undefined : `answered ${status}`),
      })),
    },
    listed('the first page', () => ({}), { least: PAGE }),
    listed('page 100, by cursor', () => ({ cursor: far[below(far.length)] ?? '' }), {
      least: Math.min(PAGE, 20),
    }),
    listed('page 100, by offset', () => ({
      offset: String(below(Math.min(FAR - PAGE, catalogue.entries >> 1))),
    })),
    listed('tools alone', () => ({ type: 'mcp' }), { isIt: ({ type }) => type === 'mcp' }),
    listed('one network of three', () => network(0), {
      isIt: (item) => item.network === caip2Of(CHAINS[0]),
    }),
    listed('a network of 1 %', () => network(CHAINS.length - 1), {
      isIt: (item) => item.network === caip2Of(CHAINS.at(-1) ?? 0),
    }),
    ...[0, ASSETS - 1].map((rank) => {
      const asset = assetOf(catalogue, rank);
      const isOf = ({ accepts }: Item): boolean =>
        accepts.some((one) => one.asset.toLowerCase() === asset);
      return listed(rank === 0 ? 'an asset of 90 %' : 'an asset of 0.1 %', () => ({ asset }), {
        isIt: isOf,
      });
    }),
    listed(
      'an asset of 90 %, at a price of 1 %',
      () => ({ asset: assetOf(catalogue, 0), maxPrice: '6' }),
      { isIt: ({ accepts }) => accepts.some(({ amount }) => Number(amount) <= 6) },
    ),
    listed('tools of an asset of 8 %', () => ({ type: 'mcp', asset: assetOf(catalogue, 1) })),
    found('a word', () => ({ query: word() })),
    found('two words', () => ({ query: `${word()} ${word()}` }), { least: 0 }),
    found('a word of ten entries', () => ({ query: hostWord(below(hostsOf(catalogue))) }), {
      least: 0,
    }),
    found('a word that is spelled wrong', () => ({ query: misspelt(word, random) })),
    found('a word that nobody says', () => ({ query: `zzq${below(1e9)}kv` }), { least: 0 }),
    found('the word that all have', () => ({ query: COMMON_WORD }), { least: FOUND }),
    found('a word, tools alone', () => ({ query: word(), type: 'mcp' }), {
      least: 0,
      isIt: ({ type }) => type === 'mcp',
    }),
    {
      what: 'merchant: the one with most entries',
      targetMs: TARGET_MS,
      gets: many(() => asked('merchant', 'resources', { payTo: largest }, ofPayee(largest))),
    },
    {
      what: 'merchant: of any entry',
      targetMs: TARGET_MS,
      gets: many(() => {
        const { payTo } = any();
        return asked('merchant', 'resources', { payTo }, ofPayee(payTo));
      }),
    },
    {
      what: 'status: of what is listed',
      targetMs: TARGET_MS,
      gets: many(() => statusOf(any().listing.resource, 'listed')),
    },
    {
      what: 'status: of what is not',
      targetMs: TARGET_MS,
      gets: many(() => statusOf(`https://nobody.example.com/${below(1e9)}`, 'unknown')),
    },
  ];
}

function network(nth: number): Query {
  return { network: caip2Of(CHAINS[nth] ?? CHAINS[0]) };
}

/** A letter inside the word is left out: most are still known by their others. */
function misspelt(word: () => string, random: () => number): string {
  let one = word();
  while (one.length < TYPO_LENGTH) one = word();
  const at = 2 + Math.floor(random() * (one.length - 4));
  return one.slice(0, at) + one.slice(at + 1);
}

async function positionsFrom(
  pool: pg.Pool,
  offset: number,
  count: number,
): Promise<readonly string[]> {
  const { rows } = await pool.query<{ score: number; last_paid_at: Date; id: Buffer }>(
    `select score, last_paid_at, id from x402.catalogue_entries
      order by score desc, last_paid_at desc, id desc offset $1 limit $2`,
    [offset, count],
  );
  return rows.map(({ score, last_paid_at, id }) =>
    cursorOf({ score, paidAt: last_paid_at.getTime(), id: id.toString('hex') }),
  );
}

async function largestPayee(pool: pg.Pool): Promise<Address> {
  const { rows } = await pool.query<{ readonly payee: string }>(
    `select encode(pay_to, 'hex') as payee from x402.catalogue_entries
      group by pay_to order by count(*) desc limit 1`,
  );
  return `0x${rows[0]?.payee ?? ''}`;
}

// ------------------------------------------------------------------ requests and what they expect

interface IsIt {
  /** Of an entry of the answer. */
  readonly isIt?: (item: Item) => boolean;
  /** Fewer are wrong; one where nothing is said. */
  readonly least?: number;
}

function asked(
  what: string,
  field: string,
  query: Query,
  { isIt = () => true, least = 1 }: IsIt = {},
): TimedGet {
  return {
    path: `/discovery/${what}?${new URLSearchParams(query).toString()}`,
    problemOf: ({ status, body }: HttpAnswer) => {
      const items = (body as Readonly<Record<string, readonly Item[] | undefined>>)[field];
      if (status !== 200 || items === undefined) return `answered ${status}`;
      if (items.length < least) return `with ${items.length} entries`;
      return items.every(isIt) ? undefined : 'with others than were asked for';
    },
  };
}

function statusOf(resource: string, code: string): TimedGet {
  return {
    path: `/discovery/status?${new URLSearchParams({ resource }).toString()}`,
    problemOf: ({ status, body }) =>
      (body as Readonly<Record<string, unknown>>)['code'] === code
        ? undefined
        : `answered ${status} without ${code}`,
  };
}
