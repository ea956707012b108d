import type { Hex } from 'viem';
import type { Database } from './database.js';

/** A row of the archive, as far as anything else says the same. */
export interface Row {
  /** As the service calls it. */
  readonly id: string;
  readonly state: string;
  readonly isPaid: boolean;
  readonly isSold: boolean;
  readonly transaction: Hex | undefined;
  readonly blockNumber: string | undefined;
  readonly blockHash: Hex | undefined;
  readonly logIndex: number | undefined;
  readonly asset: Hex | undefined;
  readonly payer: Hex | undefined;
  readonly payTo: Hex | undefined;
  readonly amount: string | undefined;
  readonly settledAmount: string | undefined;
  readonly nonce: string | undefined;
}

/** One state that a row had, in the order in which they were committed. */
export interface Write {
  readonly operation: string;
  readonly epoch: bigint;
  readonly versionMs: bigint;
  readonly versionSequence: bigint;
  readonly state: string;
  readonly isPaid: boolean;
  /** It waits for an operator: paid for good, and sold to no requester. */
  readonly isUnclaimed: boolean;
  readonly transaction: Hex | undefined;
  readonly blockHash: Hex | undefined;
  readonly payTo: Hex | undefined;
}

type Raw = Readonly<Record<string, unknown>>;

export async function lastWrite(database: Database): Promise<string> {
  const text = 'select coalesce(max(sequence), 0)::text as last from witness.writes';
  return (await database.query<{ last: string }>(text))[0]?.last ?? '0';
}

/** Ids of all settlements that were written since. */
export async function writtenSince(database: Database, sequence: string): Promise<string[]> {
  const text = 'select distinct id from witness.writes where sequence > $1';
  return (await database.query<{ id: Buffer }>(text, [sequence])).map(({ id }) => nameOf(id));
}

export async function rowsOf(database: Database, ids: readonly string[]): Promise<Row[]> {
  const text = 'select * from x402.settlements where id = any($1)';
  return (await database.query<Raw>(text, [ids.map(bytesOf)])).map(readRow);
}

/** Of each settlement, oldest first. */
export async function writesOf(
  database: Database,
  ids: readonly string[],
): Promise<ReadonlyMap<string, readonly Write[]>> {
  const text = 'select * from witness.writes where id = any($1) order by sequence';
  const writes = new Map<string, Write[]>(ids.map((id) => [id, []]));
  for (const raw of await database.query<Raw>(text, [ids.map(bytesOf)])) {
    writes.get(nameOf(raw['id'] as Buffer))?.push(readWrite(raw));
  }
  return writes;
}

/** The faults of the tables themselves, for any content. */
export async function brokenTables(database: Database): Promise<string[]> {
  const counts: readonly (readonly [string, string])[] = [
    [
      'settlements have more than one row',
      'select count(*) from (select id from x402.settlements group by id having count(*) > 1) twice',
    ],
    [
      'settlements have no place, or a place and no row',
      `select count(*) from x402.settlement_ids place full join x402.settlements row
        on row.id = place.id and row.claimed_at = place.claimed_at where row.id is null or place.id is null`,
    ],
    ['rows were deleted', `select count(*) from witness.writes where operation = 'DELETE'`],
  ];
  const found: string[] = [];
  for (const [name, text] of counts) {
    const count = Number((await database.query<{ count: string }>(text))[0]?.count);
    if (count > 0) found.push(`${count} ${name}`);
  }
  const unreadable = 'select distinct record from x402.unreadable_records';
  for (const { record } of await database.query<{ record: string }>(unreadable)) {
    found.push(`a record could not be read: ${record}`);
  }
  return found;
}

function readRow(raw: Raw): Row {
  return {
    id: nameOf(raw['id'] as Buffer),
    state: String(raw['state']),
    isPaid: raw['is_paid'] === true,
    isSold: raw['sale'] === 'sold',
    transaction: hexOf(raw['transaction']),
    blockNumber: textOf(raw['block_number']),
    blockHash: hexOf(raw['block_hash']),
    logIndex: raw['log_index'] === null ? undefined : Number(raw['log_index']),
    asset: hexOf(raw['asset']),
    payer: hexOf(raw['payer']),
    payTo: hexOf(raw['pay_to']),
    amount: textOf(raw['amount']),
    settledAmount: textOf(raw['settled_amount']),
    nonce: textOf(raw['authorization_nonce']),
  };
}

function readWrite(raw: Raw): Write {
  const number = (name: string): bigint => BigInt(raw[name] as string);
  return {
    operation: String(raw['operation']),
    epoch: number('epoch'),
    versionMs: number('version_ms'),
    versionSequence: number('version_sequence'),
    state: String(raw['state']),
    isPaid: raw['is_paid'] === true,
    isUnclaimed: raw['is_unclaimed'] === true,
    transaction: hexOf(raw['transaction']),
    blockHash: hexOf(raw['block_hash']),
    payTo: hexOf(raw['pay_to']),
  };
}

const nameOf = (id: Buffer): string => id.toString('base64url');
const bytesOf = (id: string): Buffer => Buffer.from(id, 'base64url');
const hexOf = (bytes: unknown): Hex | undefined =>
  Buffer.isBuffer(bytes) ? `0x${bytes.toString('hex')}` : undefined;
const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' ? value : undefined;
