/** The search has used up its calls or its time. */
export class BudgetSpentError extends Error {}

/** Bounds the requests of one search. */
export class SearchBudget {
  readonly #until: number;
  #calls: number;

  /** @param calls - to nodes. */
  constructor(calls: number, ms: number) {
    this.#calls = calls;
    this.#until = performance.now() + ms;
  }

  /** @throws BudgetSpentError when fewer calls, or no time, are left. */
  spend(calls = 1): void {
    if (calls > this.#calls || performance.now() > this.#until) throw new BudgetSpentError();
    this.#calls -= calls;
  }
}

/** Runs a number of tasks at once, lets a number wait, and rejects the others. */
export class Slots {
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(
    private readonly runningMax: number,
    private readonly waitingMax: number,
  ) {}

  /** @returns `undefined` when too many are waiting. */
  async run<T>(task: () => Promise<T>): Promise<{ readonly value: T } | undefined> {
    if (this.#running >= this.runningMax) {
      if (this.#waiting.length >= this.waitingMax) return undefined;
      // A search that ends passes its place on.
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    } else {
      this.#running += 1;
    }
    try {
      return { value: await task() };
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#running -= 1;
      else next();
    }
  }
}
