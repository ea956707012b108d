import { describe, expect, it } from '@jest/globals';
import { leavingFor } from './redis-connection.js';

describe('a connection leaves its server', () => {
  it.each([
    ['READONLY You can’t write against a read only replica.', true],
    ['MOVED 3999 127.0.0.1:6381', true],
    ['CLUSTERDOWN The cluster is down', true],
    ['EPOCH the ledger is of another epoch', false],
    ['ERR READONLY is no command', false],
  ])('for an answer that means the primary is elsewhere: %s', (message, leaves) => {
    expect(leavingFor()(new Error(message))).toBe(leaves);
  });

  it('twice a second at the most, however many answers say so', () => {
    let now = 0;
    const leaves = leavingFor(() => now);
    const left: number[] = [];
    for (; now <= 2000; now += 10) if (leaves(new Error('CLUSTERDOWN Hash slot'))) left.push(now);
    expect(left).toEqual([0, 500, 1000, 1500, 2000]);
  });
});
