import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { DeliveryStore } from '../../../../src/history/webhooks/delivery-store.js';
import type { Webhook } from '../../../../src/history/webhooks/webhook.js';

/** A store of deliveries with one endpoint, events for it, and time. */
interface DeliveriesWorld {
  readonly store: DeliveryStore;
  /** The endpoint. */
  readonly id: string;
  /** An event of a line, to be delivered now. @returns its sequence. */
  add(line: string): Promise<string>;
  /** The endpoint is given another URL, which is sent a challenge. @returns its sequence. */
  move(): Promise<string>;
  webhook(): Promise<Webhook>;
  pass(ms: number): Promise<void>;
  /** Since when nothing has reached the endpoint, in milliseconds from now; `undefined` while it is well. */
  failingForMs(): Promise<number | undefined>;
  close(): Promise<void>;
}

/** Where the endpoint is after it was moved. */
export const MOVED_URL = 'https://shop.example/moved';

const HOUR_MS = 3_600_000;
const FAILED = { state: 'waiting', pauseMs: 60_000, status: 500, problem: 'no' } as const;
const DELIVERED = { state: 'delivered', status: 204 } as const;

/** Cases that every store of deliveries passes: in memory, and in PostgreSQL. */
export function describeDeliveries(name: string, open: () => Promise<DeliveriesWorld>): void {
  describe(`${name}, by the contract of deliveries`, () => {
    let world: DeliveriesWorld;
    let store: DeliveryStore;
    let id: string;

    beforeEach(async () => {
      world = await open();
      ({ store, id } = world);
    });
    afterEach(() => world.close());

    const heads = async (most = 100) =>
      (await store.heads(await world.webhook(), most)).map(({ sequence }) => sequence);

    it('hands out the oldest of each line, and the next when that was delivered', async () => {
      const [a1, a2, b1] = [await world.add('a'), await world.add('a'), await world.add('b')];
      expect(await heads()).toEqual([a1, b1]);
      expect(await heads(1)).toEqual([a1]);
      expect(await store.due(10)).toEqual([id]);
      await store.record(id, a1, DELIVERED);
      expect(new Set(await heads())).toEqual(new Set([a2, b1]));
      await store.record(id, a2, DELIVERED);
      await store.record(id, b1, { state: 'failed', status: 500 });
      expect(await heads()).toEqual([]);
      expect(await store.due(10)).toEqual([]);
      expect(await store.nextInMs(id)).toBeUndefined();
    });

    it('holds a line back with its head, also what comes later, and no other line', async () => {
      const [a1, a2, b1] = [await world.add('a'), await world.add('a'), await world.add('b')];
      await store.record(id, a1, FAILED);
      expect(await heads()).toEqual([b1]);
      await store.record(id, b1, DELIVERED);
      const a3 = await world.add('a');
      // Nor is the endpoint looked at again and again meanwhile.
      expect([await heads(), await store.due(10)]).toEqual([[], []]);
      const nextInMs = (await store.nextInMs(id)) ?? 0;
      expect(nextInMs).toBeGreaterThan(55_000);
      expect(nextInMs).toBeLessThanOrEqual(60_000);
      await world.pass(60_001);
      expect(await store.due(10)).toEqual([id]);
      expect(await store.nextInMs(id)).toBe(0);
      for (const sequence of [a1, a2, a3]) {
        expect(await heads()).toEqual([sequence]);
        await store.record(id, sequence, DELIVERED);
      }
    });

    it('counts attempts, and hands out what was tried with their number', async () => {
      const sequence = await world.add('a');
      for (const attempts of [0, 1, 2]) {
        expect(await store.heads(await world.webhook(), 1)).toMatchObject([{ sequence, attempts }]);
        await store.record(id, sequence, FAILED);
        await world.pass(60_001);
      }
      await store.record(id, sequence, { state: 'withheld', problem: 'not any more' });
      expect(await heads()).toEqual([]);
    });

    it('notes what came of it once: what was delivered stays that', async () => {
      const sequence = await world.add('a');
      await store.record(id, sequence, DELIVERED);
      // Of a process that was frozen meanwhile.
      await store.record(id, sequence, FAILED);
      await world.pass(60_001);
      expect(await heads()).toEqual([]);
      // Of an event that is not there any more.
      await store.record(id, '999999', DELIVERED);
    });

    it('is worked on by one holder at a time, until its lease is over or it is let go', async () => {
      await world.add('a');
      expect(await store.take(id, 'one', 30_000)).toMatchObject({ id });
      expect(await store.take(id, 'two', 30_000)).toBeUndefined();
      expect(await store.due(10)).toEqual([]);
      await store.release(id, 'two');
      expect(await store.take(id, 'two', 30_000)).toBeUndefined();
      await world.pass(20_000);
      expect(await store.take(id, 'one', 30_000)).toBeDefined();
      await world.pass(20_000);
      expect(await store.take(id, 'two', 30_000)).toBeUndefined();
      await world.pass(11_000);
      expect(await store.due(10)).toEqual([id]);
      expect(await store.take(id, 'two', 30_000)).toBeDefined();
      await store.release(id, 'two');
      expect(await store.take(id, 'one', 30_000)).toBeDefined();
      expect(await store.take('we_unknown', 'one', 30_000)).toBeUndefined();
    });

    it('has an endpoint that is well, or failing since its first failure', async () => {
      const [a, b] = [await world.add('a'), await world.add('b')];
      expect(await world.failingForMs()).toBeUndefined();
      await store.record(id, a, FAILED);
      await world.pass(HOUR_MS);
      await store.record(id, a, FAILED);
      expect((await world.failingForMs()) ?? 0).toBeGreaterThanOrEqual(HOUR_MS);
      // A withheld delivery shows nothing of it.
      await store.record(id, b, { state: 'withheld' });
      expect((await world.failingForMs()) ?? 0).toBeGreaterThanOrEqual(HOUR_MS);
      await world.pass(60_001);
      await store.record(id, a, DELIVERED);
      expect(await world.failingForMs()).toBeUndefined();
    });

    it('disables an endpoint after a day of failures, once, and works on it no more', async () => {
      const sequence = await world.add('a');
      expect(await store.disable(id, 'failing')).toBe(false);
      await store.record(id, sequence, FAILED);
      await world.pass(23 * HOUR_MS);
      expect(await store.disable(id, 'failing')).toBe(false);
      await world.pass(2 * HOUR_MS);
      expect(await store.disable(id, 'failing')).toBe(true);
      expect(await store.disable(id, 'failing')).toBe(false);
      expect(await store.disable(id, 'gone')).toBe(false);
      expect(await store.take(id, 'one', 30_000)).toBeUndefined();
      expect(await store.due(10)).toEqual([]);
    });

    it('hands out nothing but the challenge until its URL has answered that', async () => {
      const event = await world.add('a');
      await store.record(id, event, FAILED);
      await world.pass(60_001);
      const before = await world.webhook();
      const challenge = await world.move();
      expect(await heads()).toEqual([challenge]);
      expect(await store.due(10)).toEqual([id]);
      // What the URL before it answers is nothing to this one.
      const answered = { ...DELIVERED, challengedUrl: before.url };
      await store.record(id, challenge, answered);
      expect((await world.webhook()).confirmedAt).toBeUndefined();
      expect(await heads()).toEqual([challenge]);
      await store.record(id, challenge, { ...FAILED, challengedUrl: MOVED_URL });
      expect([await heads(), await store.due(10)]).toEqual([[], []]);
      expect((await store.nextInMs(id)) ?? 0).toBeGreaterThan(55_000);
      await world.pass(60_001);
      await store.record(id, challenge, { ...DELIVERED, challengedUrl: MOVED_URL });
      expect((await world.webhook()).confirmedAt).toBeDefined();
      expect(await heads()).toEqual([event]);
      expect(await store.due(10)).toEqual([id]);
    });

    it('disables one that is gone at once', async () => {
      await world.add('a');
      expect(await store.disable(id, 'gone')).toBe(true);
      expect(await store.take(id, 'one', 30_000)).toBeUndefined();
    });
  });
}
