import type { Address } from 'viem';
import { settlementOf } from '../../../../src/history/sellers/archived-settlement.js';
import type {
  Narrowing,
  SettlementFilter,
} from '../../../../src/history/sellers/settlement-filter.js';
import type {
  Grouping,
  ListedSettlement,
  Position,
  SettlementReader,
  TotalRow,
} from '../../../../src/history/sellers/settlement-reader.js';
import { rowOf, type SettlementRow } from '../../../../src/history/settlement-row.js';
import type { ActionMethod } from '../../../../src/protocol/evm/transfer-method.js';
import { channelActionOf } from '../../../../src/protocol/schemes/registry.js';
import type { Settlement } from '../../../../src/settlement/ledger/queries/settlement-queries.js';
import { aRecorded, CLAIMED_AT, idOf } from '../recorded-settlement.js';

/** {@link SettlementReader} of rows in memory: the rules of the archive without the archive. */
export class MemorySettlementReader implements SettlementReader {
  constructor(readonly rows: SettlementRow[]) {}

  page(
    filter: SettlementFilter,
    after: Position | undefined,
    most: number,
  ): Promise<readonly ListedSettlement[]> {
    const asked = this.rows.filter((row) => isAsked(row, filter));
    return Promise.resolve(pageIn(asked, after, most));
  }

  byId(id: string): Promise<Settlement | undefined> {
    const row = this.rows.find((one) => one.id.toString('base64url') === id);
    return Promise.resolve(row && shown(row));
  }

  totals(filter: SettlementFilter, grouping: Grouping, most: number): Promise<readonly TotalRow[]> {
    const asked = this.rows.filter((row) => isAsked(row, filter));
    return Promise.resolve(totalsIn(asked, grouping, most));
  }
}

/** One page of rows, in the order of a list. */
export function pageIn(
  rows: readonly SettlementRow[],
  after: Position | undefined,
  most: number,
): readonly ListedSettlement[] {
  return [...rows]
    .sort((a, b) => newestFirst(placeOf(a), placeOf(b)))
    .filter((row) => after === undefined || newestFirst(after, placeOf(row)) < 0)
    .slice(0, most)
    .map((row) => ({ position: placeOf(row), settlement: shown(row) }));
}

export function totalsIn(
  rows: readonly SettlementRow[],
  { byDay, byPayee }: Grouping,
  most: number,
): readonly TotalRow[] {
  const groups = new Map<string, TotalRow>();
  for (const row of rows) {
    const day = byDay ? row.claimed_at.toISOString().slice(0, 10) : '';
    const payTo = byPayee ? hexOf(row.pay_to) : '0x';
    const asset = hexOf(row.asset);
    // In the order of the days turned round, then of the others as they are.
    const key = [row.chain_id, asset, payTo, row.state, day].join(' ');
    const sum = groups.get(key) ?? NOTHING;
    const isPaid = row.is_paid && row.scheme !== 'batch-settlement';
    const amount = isPaid ? BigInt(row.settled_amount ?? row.amount ?? 0) : 0n;
    groups.set(key, {
      day,
      chainId: row.chain_id,
      asset,
      payTo,
      state: row.state,
      count: sum.count + 1n,
      paidCount: sum.paidCount + (isPaid ? 1n : 0n),
      paidAmount: sum.paidAmount + amount,
    });
  }
  return [...groups]
    .sort(([a, { day: dayA }], [b, { day: dayB }]) => compare(dayB, dayA) || compare(a, b))
    .map(([, row]) => row)
    .slice(0, most);
}

const shown = (row: SettlementRow): Settlement =>
  settlementOf({ ...row, chain_id: String(row.chain_id) });
const NOTHING = { count: 0n, paidCount: 0n, paidAmount: 0n };
const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
const hexOf = (bytes: Buffer | null): Address => `0x${bytes?.toString('hex') ?? ''}`;
const placeOf = ({ claimed_at: claimedAt, id }: SettlementRow): Position => ({ claimedAt, id });

function newestFirst(a: Position, b: Position): number {
  return b.claimedAt.getTime() - a.claimedAt.getTime() || Buffer.compare(b.id, a.id);
}

function isAsked(row: SettlementRow, filter: SettlementFilter): boolean {
  const { payees } = filter;
  return (
    payees.some((payee) => row.pay_to?.equals(Buffer.from(payee.slice(2), 'hex')) === true) &&
    isOf(row, filter)
  );
}

/** The filter without the payee. */
export function isOf(row: SettlementRow, asked: Narrowing): boolean {
  const { from = -Infinity, to = Infinity, state, sale, asset, chainId, scheme, action } = asked;
  const at = row.claimed_at.getTime();
  return (
    at >= from &&
    at < to &&
    (state === undefined || row.state === state) &&
    (sale !== 'sold' || row.sale === 'sold') &&
    (sale !== 'unclaimed' || (row.is_paid && row.sale === 'open' && row.unclaimed_at !== null)) &&
    (asset === undefined || row.asset?.toString('hex') === asset.slice(2)) &&
    (chainId === undefined || row.chain_id === chainId) &&
    (scheme === undefined || row.scheme === scheme) &&
    (action === undefined ||
      (row.scheme !== null &&
        channelActionOf({ scheme: row.scheme, method: row.method as ActionMethod }) === action))
  );
}

/** A row claimed so many milliseconds later than the first. */
export function rowNamed(
  name: string,
  later: number,
  more: Partial<SettlementRow> = {},
): SettlementRow {
  const version = { ms: 1, sequence: 1 };
  const made = rowOf(56, 1, {
    kind: 'recorded',
    id: idOf(name),
    version,
    settlement: aRecorded(name, 'finalized'),
  });
  return { ...made, claimed_at: new Date(CLAIMED_AT + later), ...more };
}
