/**
 * Does something when all that has arrived by now was looked at, and before the event loop waits for more: what came
 * together is done together, and what came alone is not kept waiting.
 */
export class TickCoalescer {
  #isScheduled = false;

  constructor(private readonly act: () => void) {}

  /** However often it is called in one turn of the loop, it is done once. */
  schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.act();
    });
  }
}
