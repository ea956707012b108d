/**
 * Wakes one waiting loop. A call without a waiting loop is kept for the next wait, and none is lost
 * between a wake-up and the moment the loop goes on.
 */
export class Signal {
  #isPending = false;
  #wake: (() => void) | undefined;

  notify(): void {
    if (this.#wake === undefined) this.#isPending = true;
    else this.#wake();
  }

  /** Resolves at the next call of `notify`, at once if there was one, or when the time is over. */
  async wait(ms: number): Promise<void> {
    if (this.#isPending) {
      this.#isPending = false;
      return;
    }
    await new Promise<void>((resolve) => {
      const wake = (): void => {
        clearTimeout(timer);
        this.#wake = undefined;
        resolve();
      };
      const timer = setTimeout(wake, ms);
      this.#wake = wake;
    });
  }
}
