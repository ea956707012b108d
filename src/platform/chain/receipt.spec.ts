import { expect, it } from '@jest/globals';
import { readLogs } from './receipt.js';

it('reads a log by an index that can be counted with, and leaves others out', () => {
  const log = { address: '0xAA', topics: ['0x01'], data: '0x', blockNumber: '0x7' };
  const read = (logIndex: string) => readLogs([{ ...log, logIndex }])?.map((one) => one.logIndex);
  expect(read('0x5')).toEqual([5]);
  expect(read('0x20000000000001')).toEqual([]);
  expect(read('5')).toEqual([]);
});
