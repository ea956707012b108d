import { describe, expect, it } from '@jest/globals';
import { ShutdownSignal, type SignalSource } from './shutdown-signal.js';

class FakeProcess implements SignalSource {
  readonly exits: number[] = [];
  readonly #listeners = new Map<string, () => void>();

  on(signal: string, listener: () => void): void {
    this.#listeners.set(signal, listener);
  }

  exit(code: number): void {
    this.exits.push(code);
  }

  async send(signal: string): Promise<void> {
    this.#listeners.get(signal)?.();
    await new Promise((resolve) => setImmediate(resolve));
  }
}

describe('ShutdownSignal', () => {
  it.each(['SIGTERM', 'SIGINT'])('ends a process that is still starting on %s', async (signal) => {
    const fake = new FakeProcess();
    new ShutdownSignal(fake);
    await fake.send(signal);
    expect(fake.exits).toEqual([0]);
  });

  it('drains before it ends with 0', async () => {
    const fake = new FakeProcess();
    let finish = (): void => undefined;
    const drained = new Promise<void>((resolve) => (finish = resolve));
    new ShutdownSignal(fake).handleWith(() => drained);
    await fake.send('SIGTERM');
    expect(fake.exits).toEqual([]);
    finish();
    await new Promise((resolve) => setImmediate(resolve));
    expect(fake.exits).toEqual([0]);
  });

  it('a drain that failed ends with 1', async () => {
    const fake = new FakeProcess();
    new ShutdownSignal(fake).handleWith(() => Promise.reject(new Error('stuck')));
    await fake.send('SIGTERM');
    expect(fake.exits).toEqual([1]);
  });

  it.each([false, true])('ends with 1 after a fault, one of the drain too: %s', async (isLate) => {
    const fake = new FakeProcess();
    const shutdown = new ShutdownSignal(fake);
    let drains = 0;
    shutdown.handleWith(() => {
      drains += 1;
      if (isLate) shutdown.shutDownAfterFault();
      return Promise.resolve();
    });
    if (isLate) await fake.send('SIGTERM');
    else for (let count = 0; count < 3; count += 1) shutdown.shutDownAfterFault();
    await new Promise((resolve) => setImmediate(resolve));
    expect([drains, fake.exits]).toEqual([1, [1]]);
  });

  it('a fault during the start ends it with 1', () => {
    const fake = new FakeProcess();
    new ShutdownSignal(fake).shutDownAfterFault();
    expect(fake.exits).toEqual([1]);
  });

  it('a second signal does not wait', async () => {
    const fake = new FakeProcess();
    new ShutdownSignal(fake).handleWith(() => new Promise(() => undefined));
    await fake.send('SIGTERM');
    await fake.send('SIGINT');
    expect(fake.exits).toEqual([1]);
  });
});
