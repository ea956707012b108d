/** The end of the process after SIGTERM or SIGINT. */
type ShutdownHandler = () => Promise<void>;

/** The used part of `process`; tests give their own. */
export interface SignalSource {
  on(signal: 'SIGTERM' | 'SIGINT', listener: () => void): unknown;
  exit(code: number): void;
}

/**
 * Listens for SIGTERM and SIGINT from the first line of the program on. As the first process of a
 * container a program without a handler is not ended by them: a signal during the start would be lost.
 *
 * Before there is a handler nothing was accepted that would have to be finished, so the process ends at
 * once with 0. Afterwards the handler drains: the process ends with 0 when it succeeded and with 1 when
 * it failed, or after a fault. A second signal does not wait.
 */
export class ShutdownSignal {
  #handler: ShutdownHandler | undefined;
  #isShuttingDown = false;
  #hasFault = false;

  constructor(private readonly source: SignalSource) {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      source.on(signal, () => {
        this.#onSignal();
      });
    }
  }

  /** @param handler - drains; the process ends when it is done. */
  handleWith(handler: ShutdownHandler): void {
    this.#handler = handler;
  }

  /** Ends the process as a signal would, but with 1: an error was unhandled. */
  shutDownAfterFault(): void {
    this.#hasFault = true;
    if (!this.#isShuttingDown) this.#shutDown();
  }

  #onSignal(): void {
    if (this.#isShuttingDown) this.source.exit(1);
    else this.#shutDown();
  }

  #shutDown(): void {
    this.#isShuttingDown = true;
    if (this.#handler === undefined) {
      this.source.exit(this.#hasFault ? 1 : 0);
      return;
    }
    this.#handler().then(
      () => {
        this.source.exit(this.#hasFault ? 1 : 0);
      },
      () => {
        this.source.exit(1);
      },
    );
  }
}
