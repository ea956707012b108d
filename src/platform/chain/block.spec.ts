import { describe, expect, it } from '@jest/globals';
import { readBlockHeader, readCount, readQuantity } from './block.js';

const HEADER = {
  number: '0x10',
  hash: `0x${'5f'.repeat(32)}`,
  parentHash: `0x${'4e'.repeat(32)}`,
  timestamp: '0x6745a0c0',
  baseFeePerGas: '0x3b9aca00',
  gasLimit: '0x8f0d180',
};
/** What a node may put where a quantity belongs. */
const MALFORMED = ['0x', '', '0xzz', '12', 12, -1, {}, [], true, `0x${'f'.repeat(65)}`];

describe('a block header of a node', () => {
  it('is read, with the fields that a chain may lack left out', () => {
    expect(readBlockHeader(HEADER)).toEqual({
      number: 16n,
      hash: HEADER.hash,
      parentHash: HEADER.parentHash,
      timestamp: 0x6745a0c0,
      baseFeePerGas: 1_000_000_000n,
      gasLimit: 150_000_000n,
    });
    const { baseFeePerGas, gasLimit, ...old } = HEADER;
    expect(readBlockHeader(old)).toMatchObject({ baseFeePerGas: undefined, gasLimit: 0n });
    expect(readBlockHeader({ ...HEADER, baseFeePerGas: null })).toMatchObject({ number: 16n });
  });

  it.each(['number', 'timestamp', 'baseFeePerGas', 'gasLimit'])(
    'with a malformed %s is no answer, and no exception',
    (field) => {
      for (const value of MALFORMED) {
        expect(readBlockHeader({ ...HEADER, [field]: value })).toBeUndefined();
      }
    },
  );

  it('has a time that can be counted with', () => {
    expect(readBlockHeader({ ...HEADER, timestamp: `0x${'f'.repeat(20)}` })).toBeUndefined();
  });

  it('is rejected without a hash', () => {
    for (const hash of [null, undefined, '5f', 7]) {
      expect(readBlockHeader({ ...HEADER, hash })).toBeUndefined();
    }
  });
});

describe('a quantity of a node', () => {
  it.each(MALFORMED)('is not read from %p', (value) => {
    expect(readQuantity(value)).toBeUndefined();
    expect(readCount(value)).toBeUndefined();
  });

  it('has 256 bits at most, and 53 where it is counted with', () => {
    expect(readQuantity(`0x${'f'.repeat(64)}`)).toBe(2n ** 256n - 1n);
    expect(readCount('0x1fffffffffffff')).toBe(Number.MAX_SAFE_INTEGER);
    expect(readCount('0x20000000000000')).toBeUndefined();
  });
});
