import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { QueueWorld } from '../../../test/builders/platform/queue/queue-world.js';
import {
  aSilentRedis,
  type SilentRedis,
} from '../../../test/builders/platform/redis/silent-redis.js';
import { delay } from '../../platform/concurrency/timing.js';
import { Secret } from '../../platform/config/secret.js';
import { HistoryTables } from '../history-tables.js';
import { Deliverer } from './deliverer.js';
import { DELIVERY_STORE } from './delivery-store.js';
import { LOGGED_WEBHOOKS } from './webhook-observer.js';
import { WEBHOOKS_QUEUE, WebhooksProcessor } from './webhooks.processor.js';

/** Nothing listens there. */
const NOWHERE = new Secret('redis://127.0.0.1:1');

describe('jobs of webhooks whose Redis does not answer', () => {
  let silent: SilentRedis;
  let world: QueueWorld;
  let jobs: WebhooksProcessor;
  let due: readonly string[];
  let logged: string[];
  let upkeeps: number;

  const start = async (url: Secret<string>): Promise<void> => {
    const deliverer = { round: () => Promise.resolve(undefined), stop: () => undefined };
    const store = {
      due: () => Promise.resolve(due),
      forget: () => {
        upkeeps += 1;
        return Promise.resolve(false);
      },
    };
    const observer = {
      attempted: () => undefined,
      disabled: () => undefined,
      failed: () => void logged.push('failed'),
      recovered: () => void logged.push('recovered'),
    };
    const tables = {
      whenThere: (begin: () => void) => {
        begin();
      },
    };
    world = await QueueWorld.start(url, WEBHOOKS_QUEUE, [
      { provide: Deliverer, useValue: deliverer },
      { provide: DELIVERY_STORE, useValue: store },
      { provide: LOGGED_WEBHOOKS, useValue: observer },
      { provide: HistoryTables, useValue: tables },
      WebhooksProcessor,
    ]);
    jobs = world.app.get(WebhooksProcessor);
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
    await start(silent.url);
    expect(await msOf(() => jobs.sweep())).toBeLessThan(2000);
    expect(upkeeps).toBe(1);
    // It owes an answer: it gets nothing more.
    expect(await msOf(() => jobs.sweep())).toBeLessThan(500);
    await jobs.stop();
    await world.stop();
  });

  it('are not waited for at a stop for more than two seconds', async () => {
    await start(silent.url);
    void jobs.sweep();
    await delay(100);
    expect(silent.connections).toBeGreaterThan(0);
    expect(await msOf(() => jobs.stop())).toBeLessThan(4000);
    expect(await msOf(() => world.stop())).toBeLessThan(500);
    await delay(200);
    expect(silent.connections).toBe(0);
  });

  it('leave nothing for the hooks of Nest to wait for, where Redis fell silent while it was read', async () => {
    await silent.close();
    silent = await aSilentRedis(true);
    await start(silent.url);
    await delay(300);
    expect(silent.connections).toBeGreaterThan(1);
    expect(await msOf(() => jobs.stop())).toBeLessThan(4000);
    // They run after every phase, and a close that waits for Redis takes two seconds.
    expect(await msOf(() => world.stop())).toBeLessThan(500);
    await delay(200);
    expect(silent.connections).toBe(0);
  });

  it('are not told to be well again as long as nothing was asked of it', async () => {
    due = [];
    await start(NOWHERE);
    await delay(300);
    await jobs.sweep();
    expect(logged).toContain('failed');
    expect(logged).not.toContain('recovered');
    await jobs.stop();
    await world.stop();
  });
});
