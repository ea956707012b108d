import { describe, expect, it } from '@jest/globals';
import { Signal } from './signal.js';

const FOREVER = 60_000;

describe('Signal', () => {
  it('wakes who waits', async () => {
    const signal = new Signal();
    const waiting = signal.wait(FOREVER);
    signal.notify();
    await expect(waiting).resolves.toBeUndefined();
  });

  it('keeps a call for the next wait, once', async () => {
    const signal = new Signal();
    signal.notify();
    signal.notify();
    await signal.wait(FOREVER);
    const begun = performance.now();
    await signal.wait(20);
    expect(performance.now() - begun).toBeGreaterThan(10);
  });

  it('keeps a call that comes between the wake-up and the going on', async () => {
    const signal = new Signal();
    const order: string[] = [];
    const loop = (async () => {
      await signal.wait(FOREVER);
      order.push('first');
      await signal.wait(FOREVER);
      order.push('second');
    })();
    signal.notify();
    // The loop is woken but has not gone on yet.
    signal.notify();
    await loop;
    expect(order).toEqual(['first', 'second']);
  });
});
