import { describe, expect, it } from '@jest/globals';
import { decodeFunctionResult, encodeFunctionResult, type Hex, multicall3Abi } from 'viem';
import { uintWord } from './abi-words.js';
import { type AggregatedResult, readAggregated } from './call-results.js';

const AGGREGATE = { abi: multicall3Abi, functionName: 'aggregate3' } as const;

const GOOD = encodeFunctionResult({
  ...AGGREGATE,
  result: [
    { success: true, returnData: `0x${uintWord(7n)}${uintWord(9n)}` },
    { success: false, returnData: '0x' },
    { success: true, returnData: `0x${'ab'.repeat(33)}` },
  ],
});

function readByViem(data: Hex): readonly AggregatedResult[] | undefined {
  try {
    return decodeFunctionResult({ ...AGGREGATE, data });
  } catch {
    return undefined;
  }
}

/** The same data with another number in the word of this index. */
function withWord(index: number, value: bigint): Hex {
  const at = 2 + index * 64;
  return `0x${GOOD.slice(2, at)}${uintWord(value)}${GOOD.slice(at + 64)}`;
}

describe('the results of several calls', () => {
  it.each<[string, Hex]>([
    ['of three calls', GOOD],
    ['of no call', encodeFunctionResult({ ...AGGREGATE, result: [] })],
  ])('%s are read as viem reads them', (_, data) => {
    expect(readAggregated(data)).toEqual(readByViem(data));
    expect(readAggregated(data)).toBeDefined();
  });

  it('do not count where they overlap: they would unfold to more than was answered', () => {
    const count = 50;
    const item = uintWord(1) + uintWord(64) + uintWord(32) + uintWord(7n);
    const overlapping: Hex = `0x${uintWord(32)}${uintWord(count)}${uintWord(count * 32).repeat(count)}${item}`;
    expect(readByViem(overlapping)).toHaveLength(count);
    expect(readAggregated(overlapping)).toBeUndefined();
  });

  it.each<[string, Hex]>([
    ['nothing', '0x'],
    ['half a word', `0x${'00'.repeat(16)}`],
    ['an end that is missing', GOOD.slice(0, -64) as Hex],
    ['a list that is not there', withWord(0, 2n ** 255n)],
    ['more results than there are', withWord(1, 4n)],
    ['results without end', withWord(1, 2n ** 256n - 1n)],
    ['a result that is not there', withWord(2, 2n ** 64n)],
    ['neither yes nor no', withWord(5, 2n)],
    ['bytes that are not there', withWord(6, 2n ** 200n)],
    ['bytes of a length that is not there', withWord(7, 2n ** 200n)],
  ])('do not count where the data has %s', (_, data) => {
    expect(readAggregated(data)).toBeUndefined();
    expect(readByViem(data)).toBeUndefined();
  });
});
