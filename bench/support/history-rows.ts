import { createHash } from 'node:crypto';
import pg from 'pg';
import { type Hex, toHex } from 'viem';
import { PERMIT2 } from '../../src/protocol/evm/contracts.js';

/**
 * A large history: copies of rows that the archiver has written, with names, people, amounts and times of their
 * own. It is made by the database, as the archive's own way takes an hour for millions.
 */
export interface LargeHistory {
  readonly seed: string;
  readonly rows: number;
  /** Of the first claim, and after the last, milliseconds since the epoch. */
  readonly fromMs: number;
  readonly toMs: number;
}

export const PAYEES = 10_000;
const PAYERS = 100_000;
/** Settlements of one transaction. */
export const OF_ONE_TRANSACTION = 4;
/** Rows that are written together. */
const CHUNK = 50_000;
const FIRST_BLOCK = 50_000_000;
const BLOCK_MS = 450;
/** Rows of each method that others are copied from. */
const TEMPLATES = 32;

/** Of `count` by rank, how large a part of all the first ones have: `(rank / count) ** (1 / power)`. */
export function rankOf(uniform: number, count: number, power: number): number {
  return Math.floor(count * uniform ** power);
}
export const PAYEE_POWER = 3;
const PAYER_POWER = 2;

/** Bytes that have a name: the same here and in the database. */
export function bytesNamed(seed: string, kind: string, nth: number): Buffer {
  return createHash('sha256').update(`${seed} ${kind} ${nth}`).digest();
}

export function idOf({ seed }: LargeHistory, nth: number): string {
  return bytesNamed(seed, 'id', nth).toString('base64url');
}

export function transactionOf({ seed }: LargeHistory, nth: number): Hex {
  return toHex(bytesNamed(seed, 'transaction', Math.floor(nth / OF_ONE_TRANSACTION)));
}

export function payeeOf({ seed }: LargeHistory, rank: number): Hex {
  return toHex(bytesNamed(seed, 'payee', rank).subarray(0, 20));
}

/** Milliseconds from one claim to the next. */
export function stepOf({ rows, fromMs, toMs }: LargeHistory): number {
  return Math.max(1, Math.floor((toMs - fromMs) / rows));
}

/** From the first day of a month so many months ago until an hour before now: a run of today is apart. */
export function spanOf(now: number, months: number): Pick<LargeHistory, 'fromMs' | 'toMs'> {
  const today = new Date(now);
  return {
    fromMs: Date.UTC(today.getUTCFullYear(), today.getUTCMonth() - months),
    toMs: now - 2 * 3_600_000,
  };
}

/** Ranges of rows, none of them larger than what is written together. */
export function chunksOf(rows: number, most = CHUNK): readonly (readonly [number, number])[] {
  return Array.from({ length: Math.ceil(rows / most) }, (_, index) => [
    index * most,
    Math.min(rows, (index + 1) * most) - 1,
  ]);
}

const bytes = (kind: string, nth = 'n'): string => `sha256(convert_to(
  '{seed} ${kind} ' || ${nth}, 'UTF8'))`;
/** As ledger and archive write names that are text. */
const tag = (value: string): string =>
  `translate(rtrim(encode(${value}, 'base64'), '='), '+/', '-_')`;
/** From 0 to below 1, another one for each use. */
const uniform = (use: number): string =>
  `((hashint8extended(n, ${use}) & 9007199254740991)::float8 / 9007199254740992)`;
const digits = (use: number): string =>
  `lpad((hashint8extended(n, ${use}) & 9223372036854775807)::text, 19, '0')`;
const address = (kind: string, rank: string): string => `substring(${bytes(kind, rank)} for 20)`;
const after = (ms: number): string => `made.claimed_at + interval '${ms} milliseconds'`;
const inBlock = (value: string): string => `case when made.state <> 'expired' then ${value} end`;
const ifPaid = (value: string): string => `case when made.is_paid then ${value} end`;

/** What makes one row another one; columns that are not named here are those of the copied row. */
const OWN: Readonly<Record<string, string>> = {
  id: 'made.id',
  claimed_at: 'made.claimed_at',
  version_ms: 'made.claimed_ms',
  state: 'made.state',
  is_paid: 'made.is_paid',
  reason: `case when made.is_paid then null
    when made.state = 'expired' then 'invalid_exact_evm_payload_authorization_valid_before'
    else 'invalid_exact_evm_transfer_event_mismatch' end`,
  transaction: 'made.transaction',
  block_number: inBlock('made.block_number'),
  block_hash: inBlock(bytes('block', 'made.block_number')),
  log_index: ifPaid(`(n % ${OF_ONE_TRANSACTION}) * 2 + 1`),
  batch_size: ifPaid(String(OF_ONE_TRANSACTION)),
  sale: `case when made.is_paid then 'sold' else 'open' end`,
  sold_to: ifPaid('one.sold_to'),
  sold_key: ifPaid('made.key'),
  bound_key: 'made.key',
  is_told: 'made.is_paid',
  authorization_id: `sha256(convert_to(case one.method
    when 'permit2' then '["permit2","' || one.chain_id || '","{permit2}"'
    else '["eip3009","' || one.chain_id || '","0x' || encode(made.asset, 'hex') || '"' end
    || ',"0x' || encode(made.payer, 'hex') || '","' || made.nonce || '"]', 'UTF8'))`,
  terms_tag: bytes('terms'),
  signed_tag: bytes('signed'),
  asset: 'made.asset',
  payer: 'made.payer',
  pay_to: 'made.pay_to',
  amount: `(1 + floor(${uniform(6)} * 100))::numeric * 10::numeric ^ floor(${uniform(7)} * 6)::numeric`,
  authorization_nonce: 'made.nonce::numeric',
  deadline: 'made.claimed_ms / 1000 + 300',
  transactions: 'array[made.transaction]',
  arrived_at: after(-4),
  allocated_at: after(40),
  included_at: inBlock(after(420)),
  finished_at: after(1600),
};

const MADE = `
  from (
    select n, id, ms as claimed_ms, timestamptz 'epoch' + ms * interval '1 millisecond' as claimed_at,
      state, state in ('finalized', 'foreign') as is_paid, transaction,
      ${FIRST_BLOCK} + (ms - {from}) / ${BLOCK_MS} as block_number,
      key, asset, payer, pay_to, nonce, template
    from (
      select n, ${bytes('id')} as id,
        {from} + n * {step} + (hashint8extended(n, 1) & 2147483647) % {step} as ms,
        (array['finalized', 'reverted', 'expired', 'foreign'])[
          1 + width_bucket(${uniform(2)}, array[0.985, 0.991, 0.997]::float8[])] as state,
        ${bytes('transaction', `(n / ${OF_ONE_TRANSACTION})`)} as transaction,
        case when n % 2 = 0 then ${tag(bytes('key'))} end as key,
        width_bucket(${uniform(3)}, array[0.9, 0.98, 0.999]::float8[]) as asset_rank,
        ${address('payer', `floor(${PAYERS} * ${uniform(4)} ^ ${PAYER_POWER})::bigint`)} as payer,
        ${address('payee', `floor(${PAYEES} * ${uniform(5)} ^ ${PAYEE_POWER})::bigint`)} as pay_to,
        '1' || ${digits(8)} || ${digits(9)} || ${digits(10)} || ${digits(11)} as nonce,
        1 + (hashint8extended(n, 12) & 2147483647) % {templates} as template
      from generate_series($1::bigint, $2::bigint) as n offset 0
    ) as drawn
    cross join lateral (
      select case asset_rank when 0 then (array[{assets}]::bytea[])[template]
        else ${address('asset', 'asset_rank')} end as asset offset 0
    ) as token offset 0
  ) as made join copied as one on one.nth = made.template`;

/** The newest settlements that ended well, of each method: what the others are copies of. */
const COPIED = `
  create temporary table copied as
  select row_number() over (order by id) as nth, *
  from (
    select *, row_number() over (partition by method order by claimed_at desc, id) as of_method
    from x402.settlements where state = 'finalized' and sale = 'sold'
  ) as newest where of_method <= ${TEMPLATES}`;

interface Filled {
  readonly seconds: number;
  /** Rows of the table now, of this run and those before. */
  readonly rows: number;
}

/**
 * Writes them beside what is there. The partitions of their months have to be there.
 *
 * @param connections - that write at once.
 */
export async function fillHistory(
  url: string,
  history: LargeHistory,
  connections: number,
  onProgress: (rows: number) => void,
): Promise<Filled> {
  const begun = performance.now();
  const chunks = [...chunksOf(history.rows)];
  let written = 0;
  const writer = async (): Promise<void> => {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    try {
      // What a crash would lose is made again.
      await client.query('set synchronous_commit = off');
      await client.query(COPIED);
      const text = await statementOf(client, history);
      for (let chunk = chunks.shift(); chunk !== undefined; chunk = chunks.shift()) {
        await client.query(text, [...chunk]);
        written += chunk[1] - chunk[0] + 1;
        onProgress(written);
      }
    } finally {
      await client.end();
    }
  };
  await Promise.all(Array.from({ length: connections }, writer));
  const seconds = (performance.now() - begun) / 1000;
  return { seconds, rows: await analyzed(url) };
}

/** One statement for both tables, so that they hold the same. */
async function statementOf(client: pg.Client, history: LargeHistory): Promise<string> {
  const { rows: columns } = await client.query<{ readonly name: string }>(
    `select column_name as name from information_schema.columns
      where table_schema = 'x402' and table_name = 'settlements' order by ordinal_position`,
  );
  const { rows: copied } = await client.query<{ readonly asset: string }>(
    `select encode(asset, 'hex') as asset from copied order by nth`,
  );
  if (copied.length === 0) throw new Error('there is no settlement to copy');
  const names = columns.map(({ name }) => name);
  const values = names.map((name) => `${OWN[name] ?? `one.${name}`} as ${name}`);
  const text = `
    with written as (
      insert into x402.settlements (${names.join(', ')}) select ${values.join(', ')} ${MADE}
      returning id, chain_id, authorization_id, claimed_at)
    insert into x402.settlement_ids (id, chain_id, authorization_id, claimed_at)
    select id, chain_id, authorization_id, claimed_at from written`;
  const given: Readonly<Record<string, string>> = {
    seed: quoted(history.seed),
    permit2: PERMIT2,
    from: String(history.fromMs),
    step: String(stepOf(history)),
    templates: String(copied.length),
    assets: copied.map(({ asset }) => `'\\x${asset}'`).join(', '),
  };
  return text.replace(/\{(\w+)\}/g, (_, name: string) => given[name] ?? '');
}

function quoted(seed: string): string {
  if (!/^[\w -]*$/.test(seed))
    throw new Error('a seed is letters, digits, spaces and hyphens here');
  return seed;
}

/** As autovacuum leaves a history of months. */
async function analyzed(url: string): Promise<number> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query('vacuum (analyze) x402.settlements');
    await client.query('vacuum (analyze) x402.settlement_ids');
    const { rows } = await client.query<{ readonly rows: string }>(
      'select count(*) as rows from x402.settlements',
    );
    return Number(rows[0]?.rows ?? 0);
  } finally {
    await client.end();
  }
}
