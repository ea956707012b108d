/** Wakes one waiting loop. A call while nobody waits is not lost. */
export class Signal {
  #isSet = false;
  #wake: (() => void) | undefined;

  notify(): void {
    this.#isSet = true;
    this.#wake?.();
  }

  /** Resolves at the next call of `notify`, or when the time is over. */
  async wait(ms: number): Promise<void> {
    if (!this.#isSet) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, ms);
        this.#wake = (): void => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    this.#wake = undefined;
    this.#isSet = false;
  }
}
