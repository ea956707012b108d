import { Signal } from './signal.js';

/** Does one round after the other, with a pause between them, until it is stopped. */
export class Rounds {
  readonly #wake = new Signal();
  #isStopping = false;
  #running: Promise<void> | undefined;

  /** @param round - never fails. Says how many milliseconds to pause after it; none for 0. */
  constructor(private readonly round: () => Promise<number>) {}

  /** A long round looks at it, and ends where it may. */
  get isStopping(): boolean {
    return this.#isStopping;
  }

  start(): void {
    this.#running ??= this.#run();
  }

  /** Begins no other round, ends a pause at once, and waits for the round that is under way. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#wake.notify();
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#isStopping) {
      const pause = await this.round();
      if (pause > 0) await this.#wake.wait(pause);
    }
  }
}
