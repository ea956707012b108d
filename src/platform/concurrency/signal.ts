/** Wakes one waiting loop. A call without a waiting loop is remembered for the next wait, so no call is lost. */
export class Signal {
  #isPending = false;
  #wake: (() => void) | undefined;

  notify(): void {
    if (this.#wake === undefined) this.#isPending = true;
    else this.#wake();
  }

  /** Resolves at the next call of `notify`, at once after a remembered call, or after the time. */
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
