import { describe, expect, it } from '@jest/globals';
import { readSetUp, readUnusable, worstOf } from './redis-watch.js';

const INFO = [
  '# Memory',
  'used_memory:2000000',
  'maxmemory:0',
  'maxmemory_policy:noeviction',
  '# Persistence',
  'aof_enabled:1',
  'aof_last_write_status:ok',
  '# Replication',
  'role:master',
  '',
].join('\r\n');

describe('the set-up of Redis', () => {
  it('is without warning when every write is on disk before it is answered and none is evicted', () => {
    expect(readSetUp(INFO, 'always')).toEqual({
      aof: 'always',
      evictionPolicy: 'noeviction',
      usedMemoryBytes: 2_000_000,
      maxMemoryBytes: 0,
      warnings: [],
    });
  });

  it.each([
    ['aof_off', INFO.replace('aof_enabled:1', 'aof_enabled:0'), 'always'],
    ['aof_not_always', INFO, 'everysec'],
    ['aof_not_always', INFO, 'no'],
    ['aof_write_failed', INFO.replace('status:ok', 'status:err'), 'always'],
    ['may_evict', INFO.replace('noeviction', 'allkeys-lru'), 'always'],
    ['is_replica', INFO.replace('role:master', 'role:slave'), 'always'],
    ['memory_almost_full', INFO.replace('maxmemory:0', 'maxmemory:2100000'), 'always'],
  ])('warns: %s', (warning, info, appendFsync) => {
    expect(readSetUp(info, appendFsync).warnings).toEqual([warning]);
  });

  it('of which Redis tells nothing is unknown, not bad', () => {
    expect(readSetUp('', undefined)).toEqual({
      aof: undefined,
      evictionPolicy: undefined,
      usedMemoryBytes: undefined,
      maxMemoryBytes: undefined,
      warnings: [],
    });
  });
});

describe('the set-up of several servers', () => {
  const good = readSetUp(INFO, 'always');

  it('is as bad as that of the worst', () => {
    const full = readSetUp(INFO.replace('maxmemory:0', 'maxmemory:2100000'), 'always');
    const lax = readSetUp(INFO, 'everysec');
    expect(worstOf([good, full, lax])).toEqual({
      aof: 'everysec',
      evictionPolicy: 'noeviction',
      usedMemoryBytes: 2_000_000,
      maxMemoryBytes: 2_100_000,
      warnings: ['memory_almost_full', 'aof_not_always'],
    });
    expect(worstOf([good])).toEqual(good);
    expect(worstOf([]).warnings).toEqual([]);
  });
});

describe('a Redis this service cannot work with', () => {
  it.each([
    ['a Cluster', 'redis_mode:cluster', /Redis Cluster.*redis\+cluster:.*single primary/],
    ['a Cluster of Valkey', 'server_mode:cluster\r\nrole:slave', /Redis Cluster/],
    ['a Sentinel of Valkey', 'server_mode:sentinel', /Sentinel/],
    ['a Sentinel', 'redis_mode:sentinel', /Sentinel.*redis\+sentinel:/],
    ['a replica', 'redis_mode:standalone\r\nrole:slave', /replica.*primary/],
  ])('is refused: %s', (_, lines, expected) => {
    expect(readUnusable(`# Server\r\n${lines}\r\n`)).toMatch(expected);
  });

  it('is no primary, and none that does not say what it is', () => {
    expect(readUnusable(`redis_mode:standalone\r\n${INFO}`)).toBeUndefined();
    expect(readUnusable('')).toBeUndefined();
  });
});
