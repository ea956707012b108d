import { CachedPromise } from './cached-promise.js';

/** The free part of a limit that is measured now and then, without the amounts taken since. */
export class Headroom {
  /** Taken, and not in use yet. */
  #held = 0;
  /** In use, perhaps since the newest measure. */
  #since = 0;
  readonly #left: CachedPromise<number | undefined>;

  /**
   * @param measure - what is left; `undefined` where there is no end to it.
   * @param keptMs - milliseconds for which a measure serves.
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

  /** @returns to be called once, when what was taken is in use or is not wanted; `undefined` where there is no room. */
  async take(amount: number): Promise<(() => void) | undefined> {
    const left = await this.#left.get();
    if (left !== undefined && this.#held + this.#since + amount > left) return undefined;
    this.#held += amount;
    return () => {
      this.#held -= amount;
      this.#since += amount;
    };
  }
}
