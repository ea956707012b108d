import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { QueueWorld } from '../../../test/builders/platform/queue/queue-world.js';
import {
  aSilentRedis,
  type SilentRedis,
} from '../../../test/builders/platform/redis/silent-redis.js';
import { delay } from '../../platform/concurrency/timing.js';
import { Secret } from '../../platform/config/secret.js';
import { ledgerTag } from '../../platform/redis/hash-slot.js';
import { LANE_QUEUE } from '../ledger/ledger.module.js';
import { JobObserver, NO_TRACES } from './job-observer.js';
import {
  type SettlementConsumer,
  SettlementConsumers,
  settlementProcessorsFor,
} from './settlement.processor.js';
import { queueNameOf } from './settlement.queue.js';

/** Nothing listens there. */
const NOWHERE = new Secret('redis://127.0.0.1:1');
const CHAIN_ID = 56;
const READERS = 4;

describe('processors whose Redis of the queue does not answer', () => {
  let silent: SilentRedis | undefined;
  let world: QueueWorld;
  let troubles: number;

  const consumerOn = async (url: Secret<string>): Promise<SettlementConsumer> => {
    troubles = 0;
    const queue = { name: queueNameOf(CHAIN_ID), configKey: ledgerTag(CHAIN_ID) };
    world = await QueueWorld.start(url, queue, [
      { provide: LANE_QUEUE, useValue: {} },
      { provide: JobObserver, useValue: NO_TRACES },
      SettlementConsumers,
      ...settlementProcessorsFor(CHAIN_ID),
    ]);
    const consumer = world.app.get(SettlementConsumers).of(CHAIN_ID);
    consumer.start(() => {
      troubles += 1;
    });
    return consumer;
  };

  const msOf = async (task: () => Promise<void>): Promise<number> => {
    const begun = performance.now();
    await task();
    return performance.now() - begun;
  };

  afterEach(() => silent?.close());

  it('wait two seconds for one that is frozen at a stop, and no longer at the end', async () => {
    silent = await aSilentRedis(true);
    const consumer = await consumerOn(silent.url);
    // Two of each reader, and that of the queue.
    while (silent.connections < 2 * READERS + 1) await delay(10);
    await delay(300);
    const ms = await msOf(() => consumer.stop());
    expect(ms).toBeGreaterThan(1900);
    expect(ms).toBeLessThan(3000);
    expect(await msOf(() => world.stop())).toBeLessThan(500);
    await delay(200);
    expect(silent.connections).toBe(0);
  });

  it('report an outage once, also when it lasts', async () => {
    const consumer = await consumerOn(NOWHERE);
    await delay(100);
    expect(troubles).toBe(1);
    const now = performance.now();
    const clock = jest.spyOn(performance, 'now').mockImplementation(() => now + 3_600_000);
    consumer.failed(new Error('still away'));
    clock.mockRestore();
    expect(troubles).toBe(1);
    await consumer.stop();
    await world.stop();
  });

  it('do not wait for one that was never there', async () => {
    silent = await aSilentRedis();
    const consumer = await consumerOn(silent.url);
    await delay(100);
    expect(silent.connections).toBeGreaterThan(0);
    expect(await msOf(() => consumer.stop())).toBeLessThan(500);
    expect(await msOf(() => world.stop())).toBeLessThan(500);
    await delay(200);
    expect(silent.connections).toBe(0);
  });

  it('are left without waiting where no lane is held any more', async () => {
    silent = await aSilentRedis(true);
    const consumer = await consumerOn(silent.url);
    await delay(300);
    expect(await msOf(() => consumer.pause())).toBeLessThan(100);
    expect(await msOf(() => world.stop())).toBeLessThan(3000);
    await delay(200);
    expect(silent.connections).toBe(0);
  });

  it('tell of one that is away once, however often it is tried', async () => {
    const consumer = await consumerOn(NOWHERE);
    await delay(1000);
    expect(await msOf(() => consumer.stop())).toBeLessThan(500);
    await world.stop();
    expect(troubles).toBe(1);
  });
});
