import { Inject, Injectable } from '@nestjs/common';
import type { Address } from 'viem';
import { Clock } from '../../platform/concurrency/clock.js';
import { CodedError, invalidQuery } from '../../platform/http/coded-error.js';
import { caip2Of } from '../../protocol/payment/network.js';
import { TotalsQueryDto } from './dto/settlement-filter.dto.js';
import type { SettlementTotal, SettlementTotals } from './dto/settlement-totals.response.js';
import { fromArchive, historyOff, notYours } from './history-problems.js';
import { filterOf } from './settlement-filter.js';
import {
  ARCHIVE_READERS,
  type Grouping,
  type SettlementReader,
  type TotalRow,
} from './settlement-reader.js';

const ROWS_MOST = 10_000;
const DAYS_MOST = 366;
const DAY_MS = 86_400_000;

/** @throws CodedError if the span is too long. */
export function checkRange(from = 0, to = 0, days = DAYS_MOST): void {
  if (to - from > days * DAY_MS) {
    throw invalidQuery(`\`from\` and \`to\` must be at most ${days} days apart.`, {
      path: 'to',
      expected: `at most ${days} days after \`from\``,
    });
  }
}

/**
 * Sums by group; amounts of two assets are never added.
 *
 * @param groupBy - names of groups, comma-separated.
 * @param read - reads at most so many rows.
 * @throws CodedError
 */
export async function sumsBy(
  groupBy: string,
  read: (grouping: Grouping, most: number) => Promise<readonly TotalRow[]>,
): Promise<SettlementTotals> {
  const groups = new Set(groupBy.split(','));
  const grouping = { byDay: groups.has('day'), byPayee: groups.has('payee') };
  const rows = await read(grouping, ROWS_MOST + 1);
  if (rows.length > ROWS_MOST) {
    throw new CodedError(
      400,
      'too_many_groups',
      'The answer would have too many groups. Ask for a shorter time, or group by less.',
    );
  }
  return { groupBy: [...groups.add('asset')], totals: totalsOf(rows, grouping) };
}

/** Exact sums over the settlements of a seller. */
@Injectable()
export class TotalsOfSellers {
  constructor(
    @Inject(ARCHIVE_READERS)
    private readonly readers: { readonly totals?: Pick<SettlementReader, 'totals'> },
    @Inject(Clock) private readonly clock: Pick<Clock, 'now'>,
  ) {}

  /** @throws CodedError */
  async of(query: TotalsQueryDto, payees: ReadonlySet<Address>): Promise<SettlementTotals> {
    const { totals } = this.readers;
    if (totals === undefined) throw historyOff();
    const filter = filterOf(query, payees);
    if (filter === undefined) throw notYours();
    checkRange(filter.from, filter.to ?? this.clock.now());
    return sumsBy(query.groupBy, (grouping, most) =>
      fromArchive(totals.totals(filter, grouping, most)),
    );
  }
}

/** Rows of one group are adjacent and differ only in their state. */
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
