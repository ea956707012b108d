import { describe, expect, it } from '@jest/globals';
import { readRedisAddress } from './redis-address.js';

describe('the address of a Redis', () => {
  it.each(['redis://localhost', 'redis://:secret@host:6380/3', 'rediss://user:secret@host'])(
    'is a primary: %s',
    (url) => {
      expect(readRedisAddress(url).address).toEqual({ kind: 'primary', url });
    },
  );

  it('names Sentinels, and the primary as they call it', () => {
    expect(readRedisAddress('redis+sentinel://one,two:26380/main')).toEqual({
      problems: [],
      address: {
        kind: 'sentinel',
        isTls: false,
        username: undefined,
        password: undefined,
        sentinels: [
          { host: 'one', port: 26_379 },
          { host: 'two', port: 26_380 },
        ],
        master: 'main',
        database: 0,
        sentinelUsername: undefined,
        sentinelPassword: undefined,
      },
    });
  });

  it('has accounts of both, a database, and TLS', () => {
    const url =
      'rediss+sentinel://app:p%40ss%3A@[::1]:1,10.0.0.2/main-1.eu/4?sentinelUser=s&sentinelPassword=q%26a';
    expect(readRedisAddress(url).address).toMatchObject({
      isTls: true,
      username: 'app',
      password: 'p@ss:',
      master: 'main-1.eu',
      database: 4,
      sentinels: [
        { host: '::1', port: 1 },
        { host: '10.0.0.2', port: 26_379 },
      ],
      sentinelUsername: 's',
      sentinelPassword: 'q&a',
    });
    expect(readRedisAddress('redis+sentinel://:secret@one/main').address).toMatchObject({
      username: undefined,
      password: 'secret',
    });
  });

  it('names nodes of a Cluster', () => {
    expect(readRedisAddress('rediss+cluster://app:p%40ss@one,[::1]:7000/')).toEqual({
      problems: [],
      address: {
        kind: 'cluster',
        isTls: true,
        username: 'app',
        password: 'p@ss',
        nodes: [
          { host: 'one', port: 6379 },
          { host: '::1', port: 7000 },
        ],
      },
    });
  });

  it.each([
    ['redis+cluster://', /1 to 32 hosts/],
    ['redis+cluster://one/1', /^must be redis:/],
    ['redis+cluster://one?a=b', /^must be redis:/],
    ['', /^must be redis:/],
    ['localhost:6379', /^must be redis:/],
    ['http://localhost', /^must be redis:/],
    ['redis://ho st', /^must be redis:/],
    ['redis+proxy://host', /^must be redis:/],
    ['redis+sentinel://one/main/0/more', /^must be redis:/],
    ['redis+sentinel://one', /must name the primary/],
    ['redis+sentinel://one/', /must name the primary/],
    ['redis+sentinel:///main', /1 to 32 hosts/],
    ['redis+sentinel://one,,two/main', /1 to 32 hosts/],
    ['redis+sentinel://one:0/main', /1 to 32 hosts/],
    ['redis+sentinel://one:65536/main', /1 to 32 hosts/],
    [`redis+sentinel://${Array(33).fill('one').join()}/main`, /1 to 32 hosts/],
    ['redis+sentinel://one/main/first', /number from 0 to 9999/],
    ['redis+sentinel://one/main?password=x', /may have only/],
    ['redis+sentinel://:%zz@one/main', /percent-encoded/],
  ])('is rejected: %s', (url, expected) => {
    const { address, problems } = readRedisAddress(url);
    expect(address).toBeUndefined();
    expect(problems.join('\n')).toMatch(expected);
  });

  it('tells all its problems, and repeats nothing of it', () => {
    const { problems } = readRedisAddress('redis+sentinel://:hunter2@one:hunter2?a=hunter2');
    expect(problems).toHaveLength(3);
    expect(problems.join()).not.toContain('hunter2');
  });
});
