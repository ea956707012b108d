import { describe, expect, it } from '@jest/globals';
import { Cluster, Redis } from 'ioredis';
import { LedgerConnections } from './ledger-connections.js';

const lazy = { lazyConnect: true };

describe('connections of the ledger', () => {
  it('are one where one server has everything', () => {
    const redis = new Redis(lazy);
    const ledger = new LedgerConnections(redis);
    expect(ledger.of(56)).toBe(redis);
    expect([ledger.servers, ledger.all]).toEqual([[redis], [redis]]);
  });

  it('are one for each chain in a Cluster, and none for others', () => {
    const [shared, redis] = [new Cluster([{ port: 1 }], lazy), new Redis(lazy)];
    const ledger = new LedgerConnections(shared, new Map([['56:0', redis]]));
    expect(ledger.of(56)).toBe(redis);
    expect(() => ledger.of(97)).toThrow(/did not answer: ledger/);
    expect(ledger.servers).toEqual([redis]);
    expect(ledger.all).toEqual([shared, redis]);
  });
});
