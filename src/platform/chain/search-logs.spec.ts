import { describe, expect, it } from '@jest/globals';
import { ChainUnavailableError } from '../../protocol/errors.js';
import type { FoundLog } from './receipt.js';
import { searchLogs } from './search-logs.js';
import type { BlockRange } from './use-search/scan.js';

/** A provider that answers so many blocks at once, with a log in every hundredth block. */
function provider(most: bigint) {
  const asked: BlockRange[] = [];
  const read = (span: BlockRange): Promise<readonly FoundLog[]> => {
    asked.push(span);
    if (span.to - span.from + 1n > most) {
      return Promise.reject(new ChainUnavailableError(56, 'eth_getLogs'));
    }
    const logs: FoundLog[] = [];
    for (let number = span.from; number <= span.to; number += 1n) {
      if (number % 100n === 0n) logs.push({ blockNumber: number } as FoundLog);
    }
    return Promise.resolve(logs);
  };
  return { asked, read };
}

describe('a search of logs', () => {
  it.each([100_000n, 5000n, 999n, 10n])(
    'reads every block once where %d at a time are answered',
    async (most) => {
      const { read, asked } = provider(most);
      const found = await searchLogs(read, { from: 1n, to: 12_345n });
      expect(found.map(({ blockNumber }) => blockNumber)).toEqual(
        Array.from({ length: 123 }, (_, index) => BigInt(index + 1) * 100n),
      );
      expect(asked.every(({ from, to }) => to - from < 5000n)).toBe(true);
    },
  );

  it.each([
    [1000n, 55],
    [500n, 105],
  ])('asks little in vain where a provider answers %d at a time', async (most, calls) => {
    const { read, asked } = provider(most);
    await searchLogs(read, { from: 1n, to: 25_000n });
    expect(asked.length).toBeLessThan(calls);
  });

  it('takes any number of logs from one answer', async () => {
    const many = Array.from({ length: 200_000 }, () => ({ blockNumber: 1n }) as FoundLog);
    const read = () => Promise.resolve(many);
    expect(await searchLogs(read, { from: 1n, to: 1n })).toHaveLength(many.length);
  });

  it('asks for nothing where there is nothing to ask for', async () => {
    const { read, asked } = provider(10n);
    expect(await searchLogs(read, { from: 5n, to: 4n })).toEqual([]);
    expect(asked).toEqual([]);
  });

  it('gives up where even few blocks are refused, and tells of a fault', async () => {
    await expect(searchLogs(provider(0n).read, { from: 1n, to: 100n })).rejects.toThrow(
      ChainUnavailableError,
    );
    const fault = () => Promise.reject(new TypeError('a fault'));
    await expect(searchLogs(fault, { from: 1n, to: 100n })).rejects.toThrow('a fault');
  });
});
