import { CachedPromise } from './cached-promise.js';

/** The free part of a limit that is measured from time to time, minus the amounts reserved since. */
export class Headroom {
  /** Reserved, and not in use yet. */
  #held = 0;
  /** In use since the last measurement, or shortly before it. */
  #since = 0;
  readonly #left: CachedPromise<number | undefined>;

  /**
   * @param measure - returns the free amount; `undefined` without a limit.
   * @param keptMs - milliseconds for which a measurement is used.
   */
  constructor(measure: () => Promise<number | undefined>, keptMs: number, now?: () => number) {
    this.#left = new CachedPromise(
      async () => {
        const before = this.#since;
        const left = await measure();
        this.#since -= before;
        return left;
      },
      keptMs,
      now,
    );
  }

  /**
   * Reserves an amount.
   *
   * @returns a function to call once, when the amount is in use or no longer needed; `undefined` without enough room.
   */
  async take(amount: number): Promise<(() => void) | undefined> {
    const left = await this.#left.get();
    if (left !== undefined && this.#held + this.#since + amount > left) return undefined;
    this.#held += amount;
    return () => {
      this.#held -= amount;
      this.#since += amount;
    };
  }

  /** Counts an amount as in use at once. @returns whether there is enough room for it. */
  async use(amount: number): Promise<boolean> {
    const inUse = await this.take(amount);
    inUse?.();
    return inUse !== undefined;
  }
}
