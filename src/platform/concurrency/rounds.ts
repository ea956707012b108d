import { Signal } from './signal.js';

/** Runs rounds one after another, with pauses, until it is stopped. */
export class Rounds {
  readonly #wake = new Signal();
  #isStopping = false;
  #running: Promise<void> | undefined;

  /** @param round - must not fail. Returns the milliseconds to pause after it. */
  constructor(private readonly round: () => Promise<number>) {}

  /** A long round checks this, and ends early. */
  get isStopping(): boolean {
    return this.#isStopping;
  }

  start(): void {
    this.#running ??= this.#run();
  }

  /** Starts no further round, ends a pause, and waits for the running round. */
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
