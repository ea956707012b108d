/** More work is waiting than is worth waiting for. */
export class TooBusyError extends Error {
  constructor() {
    super('too much is waiting already');
    this.name = 'TooBusyError';
  }
}

/**
 * Runs pieces of work, a few at a time, in the order they came. For work that fills a pool which others
 * need too.
 */
export class Limited {
  #running = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(
    private readonly atOnce: number,
    private readonly waitingMax: number,
  ) {}

  /** @throws TooBusyError at once, when as many are waiting as may; else what the work throws. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#running >= this.atOnce) await this.#turn();
    else this.#running += 1;
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      // The place goes on to the next one: nobody who comes meanwhile overtakes it.
      if (next === undefined) this.#running -= 1;
      else next();
    }
  }

  #turn(): Promise<void> {
    if (this.#waiting.length >= this.waitingMax) return Promise.reject(new TooBusyError());
    return new Promise((resolve) => this.#waiting.push(resolve));
  }
}
