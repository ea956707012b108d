import { describe, expect, it } from '@jest/globals';
import type { Address } from 'viem';
import { CLAIMED_AT } from '../../../test/builders/history/recorded-settlement.js';
import {
  MemorySettlementReader,
  rowNamed,
} from '../../../test/builders/history/sellers/settlement-reader.js';
import { codeOf } from '../../../test/builders/platform/http/coded-error.js';
import { readQuery } from '../../../test/builders/platform/http/dto.js';
import { ArchiveError } from '../archive.js';
import type { SettlementRow } from '../settlement-row.js';
import { TotalsQueryDto } from './dto/settlement-filter.dto.js';
import { TotalsOfSellers } from './settlement-totals.js';

const DAY_MS = 86_400_000;
const MOST = 2n ** 256n - 1n;
const SHOP: Address = `0x${'c3'.repeat(20)}`;
const BRANCH: Address = `0x${'d4'.repeat(20)}`;
const MINE = new Set([SHOP, BRANCH]);
const ASSET = `0x${'a1'.repeat(20)}`;
const ofBranch = { pay_to: Buffer.alloc(20, 0xd4) };
const unpaid = { state: 'reverted', is_paid: false };

const ROWS: SettlementRow[] = [
  // Sums beyond what 256 bits hold.
  rowNamed('a', 0),
  rowNamed('b', 1),
  rowNamed('c', 2, unpaid),
  rowNamed('d', 3, { ...ofBranch, amount: '1000', settled_amount: '400' }),
  rowNamed('e', DAY_MS, { amount: '7' }),
  rowNamed('f', 0, { chain_id: 97, amount: '5' }),
  rowNamed('strange', 0, { pay_to: Buffer.alloc(20, 0xee) }),
];

const asked = (query: object) => readQuery(TotalsQueryDto, { from: '2026-11-01', ...query });
const totals = async (query: object, rows = ROWS, payees: ReadonlySet<Address> = MINE) =>
  new TotalsOfSellers(
    { totals: new MemorySettlementReader(rows) },
    { now: () => CLAIMED_AT + 2 * DAY_MS },
  ).of(await asked(query), payees);

describe('totals of a seller', () => {
  it('are exact, of each asset apart, with a count of each state', async () => {
    expect(await totals({})).toEqual({
      groupBy: ['asset'],
      totals: [
        {
          network: 'eip155:56',
          asset: ASSET,
          paid: { count: '4', amount: (2n * MOST + 407n).toString() },
          states: { finalized: '4', reverted: '1' },
        },
        {
          network: 'eip155:97',
          asset: ASSET,
          paid: { count: '1', amount: '5' },
          states: { finalized: '1' },
        },
      ],
    });
  });

  it('are grouped by day and payee, the newest day first', async () => {
    const { groupBy, totals: found } = await totals({
      groupBy: 'day,payee',
      network: 'eip155:56',
    });
    expect(groupBy).toEqual(['day', 'payee', 'asset']);
    expect(found.map(({ day, payTo, paid }) => [day, payTo, paid.amount])).toEqual([
      ['2026-11-22', SHOP, '7'],
      ['2026-11-21', SHOP, (2n * MOST).toString()],
      ['2026-11-21', BRANCH, '400'],
    ]);
  });

  it('are of the payees of the key alone', async () => {
    const { totals: found } = await totals({ network: 'eip155:56' }, ROWS, new Set([BRANCH]));
    expect(found.map(({ paid }) => paid)).toEqual([{ count: '1', amount: '400' }]);
    const asked = totals({ payTo: SHOP }, ROWS, new Set([BRANCH]));
    expect(await codeOf(asked)).toEqual([403, 'forbidden']);
  });

  it.each([
    { from: undefined },
    { from: '2025-11-21' },
    { from: '2020-01-01', to: '2021-06-01' },
    { groupBy: 'payer' },
    { groupBy: '' },
    { groupBy: ['day'] },
    { limit: '5' },
  ])('are refused for %j', async (query: object) => {
    expect(await codeOf(totals(query))).toEqual([400, 'invalid_query']);
  });

  it('are refused where they are too many, or not available now, or never', async () => {
    const many = Array.from({ length: 10_001 }, (_, index) =>
      rowNamed('x', 0, { asset: Buffer.from(index.toString(16).padStart(40, '0'), 'hex') }),
    );
    expect(await codeOf(totals({}, many))).toEqual([400, 'too_many_groups']);
    expect((await totals({}, many.slice(1))).totals).toHaveLength(10_000);
    const away = new TotalsOfSellers(
      { totals: { totals: () => Promise.reject(new ArchiveError('database_failed', '57014')) } },
      { now: () => CLAIMED_AT },
    );
    expect(await codeOf(away.of(await asked({}), MINE))).toEqual([503, 'history_unavailable']);
    const off = new TotalsOfSellers({}, { now: () => CLAIMED_AT });
    expect(await codeOf(off.of(await asked({}), MINE))).toEqual([501, 'history_off']);
  });
});
