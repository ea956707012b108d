import pg from 'pg';
import type { Address } from 'viem';
import { entryIdOf, hostOf, placeOf, searchedOf } from '../../src/discovery/postgres/entry-rows.js';
import type { Quality } from '../../src/discovery/quality/quality.js';
import type { Listing } from '../../src/protocol/listing/listing.js';
import { SeededRandom } from '../../test/support/seeded-random.js';
import { bytesNamed, chunksOf, rankOf } from './history-rows.js';

/** A catalogue as many sellers would have made it, and the settlements its entries were rated from. */
export interface LargeCatalogue {
  readonly seed: string;
  readonly entries: number;
  /** Settlements that declared an entry; the first entries have most of them. */
  readonly calls: number;
  /** Milliseconds since the epoch: everything was paid in the month before. */
  readonly nowMs: number;
}

/** One entry, with what was paid for it. */
export interface MadeEntry {
  readonly chainId: number;
  readonly payTo: Address;
  readonly listing: Listing;
  readonly scheme: string;
  readonly asset: Address;
  readonly amount: string;
  readonly paidAt: Date;
  /** In thousandths. */
  readonly score: number;
  readonly quality: Quality | undefined;
}

/** Networks, the most frequent first, and below which number they are drawn. */
export const CHAINS = [56, 8453, 137] as const;
const CHAIN_BOUNDS = [0.8, 0.99];
/** The last of them is paid in one of a thousand. */
export const ASSETS = 4;
const ASSET_BOUNDS = [0.9, 0.98, 0.999];
const TOOLS = 0.05;
const UPTO = 0.02;
const NOT_RATED = 0.02;
/** Entries of one payee on the average; by the power none has more than one may have. */
const ENTRIES_OF_PAYEE = 20;
const PAYEE_POWER = 1.5;
const ENTRIES_OF_HOST = 10;
const CALL_POWER = 3;
const PAYERS = 20_000;
/** Of words by how often they are said. */
const WORD_POWER = 3;
const VOCABULARY = 3000;
const DAY_MS = 86_400_000;
/** No divisor of a number of entries: neighbours by rank are no neighbours in the table. */
const STRIDE = 1_000_003;
const CHUNK = 1000;

const KNOWN_WORDS = (
  'data price weather report image translate search market forecast token wallet news video audio text summary ' +
  'article stock exchange rate history analysis signal sentiment chart map route flight hotel recipe music lyrics ' +
  'legal contract invoice receipt email domain certificate security score credit identity geocode satellite ocean ' +
  'football basketball tennis chess puzzle poetry grammar spelling dictionary embedding inference model transcription'
).split(' ');
const SYLLABLES =
  'ba co di fu ga he ji ko lu ma ne po qui ro sa ti vu we xa yo zer lin dor mar'.split(' ');

/** The same of every seed, the most frequent first. */
export const WORDS: readonly string[] = (() => {
  const random = new SeededRandom(402);
  const words = new Set(KNOWN_WORDS);
  while (words.size < VOCABULARY) {
    words.add(Array.from({ length: random.between(2, 4) }, () => random.pick(SYLLABLES)).join(''));
  }
  return [...words];
})();
/** Every description has it. */
export const COMMON_WORD = 'api';

function payeeOf({ seed }: LargeCatalogue, rank: number): Address {
  return `0x${bytesNamed(seed, 'payee', rank).subarray(0, 20).toString('hex')}`;
}

export function assetOf({ seed }: LargeCatalogue, rank: number): Address {
  return `0x${bytesNamed(seed, 'asset', rank).subarray(0, 20).toString('hex')}`;
}

/** The name of a host, which few entries have. */
export function hostWord(nth: number): string {
  return `${WORDS[nth % VOCABULARY] ?? ''}${Math.floor(nth / VOCABULARY)}x${nth % 97}`;
}

export function hostsOf({ entries }: LargeCatalogue): number {
  return Math.max(1, Math.floor(entries / ENTRIES_OF_HOST));
}

/** The place of an entry among all, by how often it is called. */
export function rankOfEntry({ entries }: LargeCatalogue, nth: number): number {
  return (nth * STRIDE) % entries;
}

/** @returns the entry that is written at this place of the table: the same one for the same seed. */
export function madeEntry(catalogue: LargeCatalogue, nth: number): MadeEntry {
  const random = new SeededRandom(bytesNamed(catalogue.seed, 'entry', nth).readUInt32BE());
  const { entries, nowMs } = catalogue;
  const rank = rankOfEntry(catalogue, nth);
  const payees = Math.max(1, Math.floor(entries / ENTRIES_OF_PAYEE));
  const paidAt = new Date(nowMs - Math.floor(random.roll() * 29 * DAY_MS));
  const score = Math.floor(15_000 * (1 - rank / entries) ** 12 * (0.5 + random.roll()));
  return {
    chainId: CHAINS[bucket(random.roll(), CHAIN_BOUNDS)] ?? CHAINS[0],
    payTo: payeeOf(catalogue, rankOf(random.roll(), payees, PAYEE_POWER)),
    listing: listingOf(catalogue, nth, random),
    scheme: random.chance(UPTO) ? 'upto' : 'exact',
    asset: assetOf(catalogue, bucket(random.roll(), ASSET_BOUNDS)),
    amount: String(random.between(1, 100) * 10 ** random.below(6)),
    paidAt,
    score,
    quality: random.chance(NOT_RATED) ? undefined : qualityOf(catalogue, rank, score, paidAt),
  };
}

function listingOf(catalogue: LargeCatalogue, nth: number, random: SeededRandom): Listing {
  const said = (least: number, most: number): readonly string[] =>
    Array.from(
      { length: random.between(least, most) },
      () => WORDS[rankOf(random.roll(), VOCABULARY, WORD_POWER)] ?? '',
    );
  const [name = '', path = '', field = ''] = said(3, 3);
  const url = `https://${hostWord(random.below(hostsOf(catalogue)))}.example.com/${path}/${name}-${nth}`;
  const isTool = random.chance(TOOLS);
  const words = {
    description: `${said(12, 40).join(' ')} ${COMMON_WORD}`,
    mimeType: 'application/json',
    serviceName: `${name} ${path}`.slice(0, 32),
    tags: said(1, 5),
  };
  const offer = { maxTimeoutSeconds: 300, extra: { name: 'USD Coin', version: '2' } };
  const schema = { type: 'object', properties: { [field]: { type: 'string' } } };
  if (isTool) {
    const input = { type: 'mcp', toolName: `${name}_${path}`, inputSchema: schema };
    return {
      x402Version: 2,
      type: 'mcp',
      resource: url,
      toolName: input.toolName,
      ...words,
      bazaar: { info: { input } },
      offer,
    };
  }
  const input = { type: 'http', method: 'GET', queryParams: { [field]: name } };
  const output = { type: 'json', example: { [path]: said(1, 20).join(' '), total: nth } };
  return {
    x402Version: 2,
    type: 'http',
    method: 'GET',
    resource: url,
    ...words,
    bazaar: { info: { input, output }, schema: { properties: { input: schema } } },
    offer,
  };
}

function qualityOf(
  { entries, calls }: LargeCatalogue,
  rank: number,
  score: number,
  paidAt: Date,
): Quality {
  const part = ((rank + 1) / entries) ** (1 / CALL_POWER) - (rank / entries) ** (1 / CALL_POWER);
  const total = Math.max(1, Math.round(calls * part));
  const payers = Math.max(1, Math.round(total ** 0.8));
  return {
    l30DaysTotalCalls: total,
    l30DaysUniquePayers: payers,
    l30DaysRepeatPayers: Math.floor(payers / 3),
    l30DaysExcludedCalls: 0,
    l30DaysSuccessRate: 0.995,
    l30DaysMedianSettleMs: 640,
    lastCalledAt: paidAt.toISOString(),
    score: score / 1000,
  };
}

function bucket(uniform: number, bounds: readonly number[]): number {
  const found = bounds.findIndex((bound) => uniform < bound);
  return found === -1 ? bounds.length : found;
}

// ------------------------------------------------------------------ into the database

const ENTRIES = `
  with made as (
    select * from json_to_recordset($1::json) as made (id bytea, chain_id bigint, pay_to bytea, place bytea, type text,
      x402_version smallint, resource text, host text, listing text, at timestamptz, names text, places text,
      words text, score integer, quality text, due_in double precision, rank bigint, scheme text, asset bytea,
      amount numeric, offer text)),
  written as (
    insert into x402.catalogue_entries (id, chain_id, pay_to, place, type, x402_version, resource, host, listing,
      declared_at, first_paid_at, last_paid_at, names, places, words, score, quality, rated_at, due_at)
    select id, chain_id, pay_to, place, type, x402_version, resource, host, listing, at, at - interval '1 day', at,
      names, places, words, score, quality, case when quality is not null then now() end,
      now() + due_in * interval '6 hours'
    from made),
  offered as (
    insert into x402.catalogue_offers (entry_id, scheme, asset, method, amount, offer, paid_at)
    select id, scheme, asset, 'eip3009', amount, offer, at from made)
  insert into ranked (rank, id, pay_to, chain_id, asset) select rank, id, pay_to, chain_id, asset from made`;

const uniform = (use: number): string =>
  `((hashint8extended(n, ${use}) & 9007199254740991)::float8 / 9007199254740992)`;
const named = (kind: string, nth: string): string =>
  `sha256(convert_to($3 || ' ${kind} ' || ${nth}, 'UTF8'))`;

/** Settlements as the archive writes them, in the columns that the catalogue reads. */
const CALLS = `
  with made as materialized (
    select ${named('call', 'n')} as id,
      timestamptz 'epoch' + ($5::bigint - ${uniform(1)} * 29 * ${DAY_MS})::bigint * interval '1 millisecond' as at,
      substring(${named('payer', `floor(${PAYERS} * ${uniform(2)} ^ 2)::bigint`)} for 20) as payer,
      floor($4::bigint * ${uniform(3)} ^ ${CALL_POWER})::bigint as rank,
      ${uniform(4)} < 0.995 as is_paid
    from generate_series($1::bigint, $2::bigint) as n),
  called as materialized (select made.*, ranked.id as entry_id, pay_to, chain_id, asset from made join ranked using (rank)),
  settled as (
    insert into x402.settlements (id, claimed_at, chain_id, epoch, version_ms, version_sequence, state, is_paid, sale,
      is_told, is_kept, is_async, authorization_id, terms_tag, signed_tag, scheme, method, asset, payer, pay_to, amount,
      included_at, finished_at)
    select id, at, chain_id, 1, 1, 1, case when is_paid then 'finalized' else 'reverted' end, is_paid,
      case when is_paid then 'sold' else 'open' end, is_paid, false, false, id, id, id, 'exact', 'eip3009', asset, payer,
      pay_to, 1000, at + interval '640 milliseconds', at + interval '2 seconds'
    from called),
  identified as (
    insert into x402.settlement_ids (id, chain_id, authorization_id, claimed_at)
    select id, chain_id, id, at from called)
  insert into x402.catalogue_calls (settlement_id, entry_id, claimed_at) select id, entry_id, at from called`;

interface FilledCatalogue {
  readonly seconds: number;
  /** Of the tables of the catalogue with their indexes. */
  readonly mebibytes: number;
}

/** Writes it into tables that are there and empty; the partitions of its month have to be there. */
export async function fillCatalogue(
  url: string,
  catalogue: LargeCatalogue,
  onProgress: (entries: number) => void,
): Promise<FilledCatalogue> {
  const begun = performance.now();
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    // What a crash would lose is made again.
    await client.query('set synchronous_commit = off');
    await client.query(
      'create temporary table ranked (rank bigint primary key, id bytea, pay_to bytea, chain_id bigint, asset bytea)',
    );
    for (const [first, last] of chunksOf(catalogue.entries, CHUNK)) {
      const made = Array.from({ length: last - first + 1 }, (_, index) =>
        rowOf(catalogue, first + index),
      );
      await client.query(ENTRIES, [JSON.stringify(made)]);
      onProgress(last + 1);
    }
    await client.query('analyze ranked');
    for (const [first, last] of chunksOf(catalogue.calls)) {
      const { seed, entries, nowMs } = catalogue;
      await client.query(CALLS, [first, last, seed, entries, nowMs]);
    }
    // As autovacuum leaves them.
    for (const table of TABLES) await client.query(`vacuum (analyze) x402.${table}`);
    const { rows } = await client.query<{ readonly bytes: string }>(
      `select sum(pg_total_relation_size(oid)) as bytes from pg_class
        where relnamespace = 'x402'::regnamespace and relname like 'catalogue%' and relkind = 'r'`,
    );
    return {
      seconds: (performance.now() - begun) / 1000,
      mebibytes: Number(rows[0]?.bytes ?? 0) / 2 ** 20,
    };
  } finally {
    await client.end();
  }
}

const TABLES = [
  'catalogue_entries',
  'catalogue_offers',
  'catalogue_calls',
  'settlements',
  'settlement_ids',
];

function rowOf(catalogue: LargeCatalogue, nth: number): Readonly<Record<string, unknown>> {
  const { chainId, payTo, listing, ...made } = madeEntry(catalogue, nth);
  const bytes = (value: Buffer | string): string =>
    `\\x${typeof value === 'string' ? value.slice(2) : value.toString('hex')}`;
  const rank = rankOfEntry(catalogue, nth);
  return {
    id: bytes(entryIdOf({ chainId, payTo }, listing)),
    chain_id: chainId,
    pay_to: bytes(payTo),
    place: bytes(placeOf(listing)),
    type: listing.type,
    x402_version: listing.x402Version,
    resource: listing.resource,
    host: hostOf(listing.resource),
    listing: JSON.stringify(listing),
    at: made.paidAt,
    ...searchedOf(listing),
    score: made.score,
    rank,
    scheme: made.scheme,
    asset: bytes(made.asset),
    amount: made.amount,
    offer: JSON.stringify(listing.offer),
    quality: made.quality === undefined ? null : JSON.stringify(made.quality),
    due_in: (rank % 1000) / 1000,
  };
}
