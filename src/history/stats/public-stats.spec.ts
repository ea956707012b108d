import { describe, expect, it } from '@jest/globals';
import { getAddress } from 'viem';
import { ArchiveError } from '../archive.js';
import type { AssetSums, PaymentSums } from '../postgres/payment-sums.js';
import type { KnownToken } from './known-tokens.js';
import { KEPT_MS, PublicStats } from './public-stats.js';

const NOW = Date.UTC(2026, 10, 26, 12, 34, 56);
const USDC = `0x${'ab'.repeat(20)}` as const;
const OTHER = `0x${'01'.repeat(20)}` as const;
const TOKEN: KnownToken = {
  network: 'eip155:8453',
  asset: getAddress(USDC),
  symbol: 'USDC',
  decimals: 6,
};

const sumOf = (payments: bigint) => ({
  payments,
  amount: payments * 10_000n,
  payers: 2n,
  payees: 1n,
});
const sums = (asset: AssetSums['asset']): AssetSums => ({
  chainId: 8453,
  asset,
  all: sumOf(9n),
  since: [sumOf(1n), sumOf(2n), sumOf(3n)],
});

function stats(read: PaymentSums['read'] = () => Promise.resolve([sums(USDC), sums(OTHER)])): {
  readonly stats: PublicStats;
  readonly clock: { time: number };
  readonly asked: unknown[];
} {
  const clock = { time: NOW };
  const asked: unknown[] = [];
  const counted: PaymentSums['read'] = (...parameters) => {
    asked.push(parameters);
    return read(...parameters);
  };
  const tokens = { list: () => [TOKEN] };
  const now = { now: () => clock.time };
  return { stats: new PublicStats({ read: counted }, tokens, now), clock, asked };
}

describe('the public totals', () => {
  it('are by network and asset, in windows from full hours', async () => {
    const { stats: totals, asked } = stats();
    const { asOf, networks } = await totals.current();
    expect(asOf).toBe('2026-11-26T12:34:56.000Z');
    const days = [1, 7, 30].map((count) => Date.UTC(2026, 10, 26 - count, 12));
    expect(asked).toEqual([[days, 200]]);
    const window = (payments: string, amount: string, tokens: string) => ({
      payments,
      amount,
      tokens,
      payers: '2',
      payees: '1',
    });
    expect(networks['eip155:8453']?.[USDC]).toEqual({
      symbol: 'USDC',
      decimals: 6,
      txCount: 9,
      totalAmount: '90000',
      windows: {
        '24h': window('1', '10000', '0.01'),
        '7d': window('2', '20000', '0.02'),
        '30d': window('3', '30000', '0.03'),
        all: window('9', '90000', '0.09'),
      },
    });
  });

  it('say nothing of whole tokens where the decimals are not known', async () => {
    const { networks } = await stats().stats.current();
    const other = networks['eip155:8453']?.[OTHER];
    expect(other).not.toHaveProperty('decimals');
    expect(other?.windows['all']).toEqual({
      payments: '9',
      amount: '90000',
      payers: '2',
      payees: '1',
    });
  });

  it('are asked for once at a time and once a minute', async () => {
    const { stats: totals, clock, asked } = stats();
    await Promise.all([totals.current(), totals.current()]);
    clock.time += KEPT_MS - 1;
    await totals.current();
    expect(asked).toHaveLength(1);
    clock.time += 1;
    await totals.current();
    expect(asked).toHaveLength(2);
  });

  it('are asked for again after the history could not be asked', async () => {
    let isAway = true;
    const { stats: totals } = stats(() =>
      isAway
        ? Promise.reject(new ArchiveError('database_unreachable', undefined))
        : Promise.resolve([]),
    );
    await expect(totals.current()).rejects.toMatchObject({
      status: 503,
      code: 'history_unavailable',
    });
    isAway = false;
    expect((await totals.current()).networks).toEqual({});
  });

  it('cannot be had without a history', async () => {
    const off = new PublicStats(undefined, { list: () => [] }, { now: () => NOW });
    await expect(off.current()).rejects.toMatchObject({
      status: 501,
      code: 'history_off',
    });
  });
});
