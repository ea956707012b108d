/** Gives every entry of a writer an order greater than all before it. */
export class StorageClock {
  #last = 0;

  constructor(private readonly now: () => number) {}

  get last(): number {
    return this.#last;
  }

  /** Never goes below this one again. */
  advanceTo(order: number): void {
    this.#last = Math.max(this.#last, order);
  }

  /** Microseconds since the epoch, as far as the clock agrees. */
  next(): number {
    this.#last = Math.max(this.#last + 1, this.now() * 1000);
    return this.#last;
  }
}
