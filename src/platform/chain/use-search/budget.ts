/** Nothing more may be asked for this search. */
export class BudgetSpentError extends Error {}

/** What one search may cost. */
export class SearchBudget {
  readonly #until: number;
  #calls: number;

  /** @param calls - to nodes. */
  constructor(calls: number, ms: number) {
    this.#calls = calls;
    this.#until = performance.now() + ms;
  }

  /** @throws BudgetSpentError when there are not that many calls left, or no time. */
  spend(calls = 1): void {
    if (calls > this.#calls || performance.now() > this.#until) throw new BudgetSpentError();
    this.#calls -= calls;
  }
}

/** Works on so many tasks at once, lets so many wait, and turns the others away. */
export class Slots {
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(
    private readonly runningMax: number,
    private readonly waitingMax: number,
  ) {}

  /** @returns `undefined` when too many wait already. */
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
