import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  aSilentRedis,
  type SilentRedis,
} from '../../../test/builders/platform/redis/silent-redis.js';
import { delay } from '../../platform/concurrency/timing.js';
import { Secret } from '../../platform/config/secret.js';
import { connectReader } from '../../platform/redis/redis-connection.js';
import { WebhookJobs } from './webhook-jobs.js';

/** Nothing listens there. */
const NOWHERE = new Secret('redis://127.0.0.1:1');

describe('webhook jobs whose Redis does not answer', () => {
  let silent: SilentRedis;
  let jobs: WebhookJobs;
  let due: readonly string[];
  let logged: string[];
  let upkeeps: number;

  const start = (url: Secret<string>): void => {
    jobs = new WebhookJobs({
      deliverer: { round: () => Promise.resolve(undefined), stop: () => undefined },
      store: {
        due: () => Promise.resolve(due),
        forget: () => {
          upkeeps += 1;
          return Promise.resolve(false);
        },
      },
      connect: () => connectReader(url),
      observer: {
        attempted: () => undefined,
        disabled: () => undefined,
        troubled: () => void logged.push('troubled'),
        recovered: () => void logged.push('recovered'),
      },
    });
    jobs.start();
  };

  const msOf = async (task: () => Promise<void>): Promise<number> => {
    const begun = performance.now();
    await task();
    return performance.now() - begun;
  };

  beforeEach(async () => {
    silent = await aSilentRedis();
    [due, logged, upkeeps] = [['one'], [], 0];
  });
  afterEach(() => silent.close());

  it('are looked for in a second, and the database is kept up all the same', async () => {
    start(silent.url);
    expect(await msOf(() => jobs.sweep())).toBeLessThan(2000);
    expect(upkeeps).toBe(1);
    // It owes an answer: it gets nothing more.
    expect(await msOf(() => jobs.sweep())).toBeLessThan(500);
    await jobs.stop();
  });

  it('are not waited for at a stop for more than two seconds', async () => {
    start(silent.url);
    void jobs.sweep();
    await delay(100);
    expect(silent.connections).toBeGreaterThan(0);
    expect(await msOf(() => jobs.stop())).toBeLessThan(4000);
    await delay(200);
    expect(silent.connections).toBe(0);
  });

  it('are not told to be well again as long as nothing was asked of it', async () => {
    due = [];
    start(NOWHERE);
    await delay(300);
    await jobs.sweep();
    expect(logged).toContain('troubled');
    expect(logged).not.toContain('recovered');
    await jobs.stop();
  });
});
