/**
 * Runs an action once per turn of the event loop, after all input of the turn was processed. So input that arrives
 * together is handled together, and a single input is not delayed.
 */
export class TickCoalescer {
  #isScheduled = false;

  constructor(private readonly act: () => void) {}

  /** Several calls in one turn run the action once. */
  schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.act();
    });
  }
}
