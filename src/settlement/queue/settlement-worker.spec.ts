import { afterEach, describe, expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import {
  aSilentRedis,
  type SilentRedis,
} from '../../../test/builders/platform/redis/silent-redis.js';
import { delay } from '../../platform/concurrency/timing.js';
import { Secret } from '../../platform/config/secret.js';
import { connectReader } from '../../platform/redis/redis-connection.js';
import type { LaneQueue } from '../ledger/lane-store.js';
import { NO_TRACES } from './job-observer.js';
import { SettlementWorker } from './settlement-worker.js';

/** Nothing listens there. */
const NOWHERE = new Secret('redis://127.0.0.1:1');

describe('a worker whose Redis of the queue does not answer', () => {
  let silent: SilentRedis | undefined;
  let troubles: number;

  const workerOf = (url: Secret<string>, connections: Redis[] = []): SettlementWorker => {
    troubles = 0;
    return new SettlementWorker({
      chainId: 56,
      store: {} as LaneQueue,
      connect: () => {
        const connection = connectReader(url);
        connections.push(connection);
        return connection;
      },
      onError: () => {
        troubles += 1;
      },
      observer: NO_TRACES,
    });
  };

  const msOfStop = async (worker: SettlementWorker): Promise<number> => {
    const begun = performance.now();
    await worker.stop();
    return performance.now() - begun;
  };

  afterEach(() => silent?.close());

  it('waits two seconds for one that is frozen at a stop', async () => {
    silent = await aSilentRedis(true);
    const connections: Redis[] = [];
    const worker = workerOf(silent.url, connections);
    worker.start();
    while (connections.length === 0 || connections.some(({ status }) => status !== 'ready')) {
      await delay(10);
    }
    const ms = await msOfStop(worker);
    expect(ms).toBeGreaterThan(1900);
    expect(ms).toBeLessThan(3000);
    await delay(200);
    expect(silent.connections).toBe(0);
  });

  it('does not wait for one that was never there', async () => {
    silent = await aSilentRedis();
    const worker = workerOf(silent.url);
    worker.start();
    await delay(100);
    expect(silent.connections).toBeGreaterThan(0);
    expect(await msOfStop(worker)).toBeLessThan(500);
    await delay(200);
    expect(silent.connections).toBe(0);
  });

  it('tells of one that is away once, however often it is tried', async () => {
    const worker = workerOf(NOWHERE);
    worker.start();
    await delay(1000);
    expect(await msOfStop(worker)).toBeLessThan(500);
    expect(troubles).toBe(1);
  });
});
