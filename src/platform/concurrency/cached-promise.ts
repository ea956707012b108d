/**
 * A piece of work whose answer is shared: by all who ask while it is under way, and by those who ask
 * within a time after it. A failure reaches those who waited for it and is not kept.
 */
export class CachedPromise<T> {
  #pending: Promise<T> | undefined;
  #cached: { readonly value: T; readonly at: number } | undefined;

  /** @param keptMs - milliseconds an answer serves from the moment it came; 0 for none. */
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
      // Work that throws before it is under way fails like any other.
      const value = await Promise.resolve().then(this.work);
      this.#cached = { value, at: this.now() };
      return value;
    } finally {
      this.#pending = undefined;
    }
  }
}
