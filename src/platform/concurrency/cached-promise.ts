/**
 * Shares one result between concurrent callers, and with callers within a time after it. Failures reach the waiting
 * callers and are not cached.
 */
export class CachedPromise<T> {
  #pending: Promise<T> | undefined;
  #cached: { readonly value: T; readonly at: number } | undefined;

  /** @param keptMs - milliseconds for which a result is cached; 0 for none. */
  constructor(
    private readonly work: () => Promise<T>,
    private readonly keptMs: number,
    private readonly now: () => number = () => performance.now(),
  ) {}

  get(): Promise<T> {
    if (this.#cached !== undefined && this.now() - this.#cached.at < this.keptMs) {
      return Promise.resolve(this.#cached.value);
    }
    this.#pending ??= this.#do();
    return this.#pending;
  }

  async #do(): Promise<T> {
    try {
      // A synchronous exception counts as a failure too.
      const value = await Promise.resolve().then(this.work);
      this.#cached = { value, at: this.now() };
      return value;
    } finally {
      this.#pending = undefined;
    }
  }
}
