import type { Clock } from '../../../../src/platform/concurrency/clock.js';

/** A clock that stands still until a test moves it on. */
export class TestClock implements Clock {
  #at = 1_700_000_000_000;
  #sleepers: { readonly until: number; readonly wake: () => void }[] = [];

  now(): number {
    return this.#at;
  }

  steady(): number {
    return this.#at;
  }

  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.#sleepers.push({ until: this.#at + ms, wake: resolve });
    });
  }

  /** Wakes all who sleep no longer than this, and lets them go on. */
  async pass(ms: number): Promise<void> {
    this.#at += ms;
    const due = this.#sleepers.filter(({ until }) => until <= this.#at);
    this.#sleepers = this.#sleepers.filter(({ until }) => until > this.#at);
    for (const { wake } of due) wake();
    await turns();
  }
}

/** Lets everything go on that waits for nothing but its turn. */
export async function turns(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) {
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  }
}
