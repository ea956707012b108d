/** More work is waiting than is worth waiting for. */
export class TooBusyError extends Error {
  constructor() {
    super('too much is waiting already');
    this.name = 'TooBusyError';
  }
}

/**
 * Which queue is served first. Each queue has room of its own: a full one does not block the other.
 */
export type Queue = 'first' | 'later';

/**
 * Runs pieces of work, a few at a time, those of the first line before those of the later one, and in the
 * order they came. For work that fills a pool which others need too.
 */
export class Semaphore {
  #running = 0;
  readonly #lines: Readonly<Record<Queue, (() => void)[]>> = { first: [], later: [] };

  /** @param waitingMax - in each line. */
  constructor(
    private readonly atOnce: number,
    private readonly waitingMax: number,
  ) {}

  /** @throws TooBusyError at once, when as many are waiting as may; else what the work throws. */
  async run<T>(work: () => Promise<T>, line: Queue = 'first'): Promise<T> {
    if (this.#running >= this.atOnce) await this.#turn(this.#lines[line]);
    else this.#running += 1;
    try {
      return await work();
    } finally {
      const next = this.#lines.first.shift() ?? this.#lines.later.shift();
      // The place passes to the next in the queue, so a later caller cannot overtake it.
      if (next === undefined) this.#running -= 1;
      else next();
    }
  }

  #turn(waiting: (() => void)[]): Promise<void> {
    if (waiting.length >= this.waitingMax) return Promise.reject(new TooBusyError());
    return new Promise((resolve) => waiting.push(resolve));
  }
}
