/** The queue is full. */
export class TooBusyError extends Error {
  constructor() {
    super('too much is waiting already');
    this.name = 'TooBusyError';
  }
}

/** The order of service. Each queue has its own limit, so a full one does not block the other. */
export type Queue = 'first' | 'later';

/** Limits concurrent work. The queue `first` is served before the later one, each in order of arrival. */
export class Semaphore {
  #running = 0;
  readonly #lines: Readonly<Record<Queue, (() => void)[]>> = { first: [], later: [] };

  /** @param waitingMax - for each queue. */
  constructor(
    private readonly atOnce: number,
    private readonly waitingMax: number,
  ) {}

  /** @throws TooBusyError at once if the queue is full; otherwise errors of the work. */
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
