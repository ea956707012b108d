import type { Address } from 'viem';
import { z } from 'zod';
import { CodedError } from '../../platform/http/coded-error.js';
import { invalidQuery, readQuery } from '../../platform/http/read-query.js';
import { caip2Of } from '../../protocol/payment/network.js';
import { fromArchive, historyOff, notYours } from './history-problems.js';
import { FILTER_QUERY, filterOf } from './settlement-filter.js';
import type { Grouping, SettlementReader, TotalRow } from './settlement-reader.js';

/** What was settled within one group. Amounts of two assets are never added. */
interface SettlementTotal {
  /** Of the claim, in UTC. */
  readonly day?: string;
  readonly network: string;
  readonly asset: Address;
  readonly payTo?: Address;
  /** What reached the payees: how often, and how much in atomic units. */
  readonly paid: { readonly count: string; readonly amount: string };
  /** How many settlements are in each state. */
  readonly states: Readonly<Record<string, string>>;
}

export interface SettlementTotals {
  readonly groupBy: readonly string[];
  readonly totals: readonly SettlementTotal[];
}

const GROUPS = ['day', 'asset', 'payee'] as const;
type GroupName = (typeof GROUPS)[number];
const ROWS_MOST = 10_000;
const DAYS_MOST = 366;
const DAY_MS = 86_400_000;

export const TOTALS_QUERY = z.strictObject({
  ...FILTER_QUERY,
  groupBy: z
    .string()
    .transform((text) => [...new Set(text.split(','))])
    .pipe(z.array(z.enum(GROUPS, { error: `must be a list of ${GROUPS.join(', ')}` })))
    .default(['asset']),
});

/** @throws CodedError for a time without a beginning, or of too many days. */
export function checkRange(
  from: number | undefined,
  to: number,
  days = DAYS_MOST,
): asserts from is number {
  if (from === undefined) throw invalidQuery('from must be given.');
  if (to - from > days * DAY_MS) {
    throw invalidQuery(`from and to must be at most ${days} days apart.`);
  }
}

/**
 * Sums by group, each asset apart.
 *
 * @param read - at most so many rows.
 * @throws CodedError
 */
export async function sumsBy(
  groupBy: readonly GroupName[],
  read: (grouping: Grouping, most: number) => Promise<readonly TotalRow[]>,
): Promise<SettlementTotals> {
  const grouping = { byDay: groupBy.includes('day'), byPayee: groupBy.includes('payee') };
  const rows = await fromArchive(read(grouping, ROWS_MOST + 1));
  if (rows.length > ROWS_MOST) {
    throw new CodedError(400, 'too_many_groups', 'These are too many groups: ask for less.');
  }
  return { groupBy: [...new Set([...groupBy, 'asset'])], totals: totalsOf(rows, grouping) };
}

/** Exact sums over the settlements of a seller. */
export class TotalsOfSellers {
  /** @param reader - `undefined` without a history. */
  constructor(
    private readonly reader: Pick<SettlementReader, 'totals'> | undefined,
    private readonly now: () => number,
  ) {}

  /** @throws CodedError */
  async of(query: unknown, payees: ReadonlySet<Address>): Promise<SettlementTotals> {
    if (this.reader === undefined) throw historyOff();
    const { groupBy, ...asked } = readQuery(TOTALS_QUERY, query);
    checkRange(asked.from, asked.to ?? this.now());
    const filter = filterOf(asked, payees);
    if (filter === undefined) throw notYours();
    const { reader } = this;
    return sumsBy(groupBy, (grouping, most) => reader.totals(filter, grouping, most));
  }
}

/** Rows of one group differ in their state alone, and follow each other. */
function totalsOf(rows: readonly TotalRow[], grouping: Grouping): SettlementTotal[] {
  const groups = new Map<string, TotalRow[]>();
  for (const row of rows) {
    const key = [row.day, row.chainId, row.asset, row.payTo].join(' ');
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [row]);
    else group.push(row);
  }
  return [...groups.values()].flatMap((group) => {
    const [first] = group;
    if (first === undefined) return [];
    const sum = (value: (row: TotalRow) => bigint): string =>
      group.reduce((total, row) => total + value(row), 0n).toString();
    return [
      {
        ...(grouping.byDay && { day: first.day }),
        network: caip2Of(first.chainId),
        asset: first.asset,
        ...(grouping.byPayee && { payTo: first.payTo }),
        paid: {
          count: sum(({ paidCount }) => paidCount),
          amount: sum(({ paidAmount }) => paidAmount),
        },
        states: Object.fromEntries(group.map(({ state, count }) => [state, count.toString()])),
      },
    ];
  });
}
