interface CircuitBreakerOptions {
  /** So many failures in a row open it. */
  readonly failuresMost: number;
  /**
   * Milliseconds in which an open circuit lets no call through; then it lets one through as a
   * trial.
   */
  readonly pauseMs: number;
  readonly steady: () => number;
}

/** Keeps callers from waiting for what has just failed them several times. */
export class CircuitBreaker {
  #failures = 0;
  #closedAgainAt = -Infinity;

  constructor(private readonly options: CircuitBreakerOptions) {}

  get isOpen(): boolean {
    return this.#failures >= this.options.failuresMost;
  }

  /** Whether to try now. While it is open one caller a pause may. */
  admits(): boolean {
    if (!this.isOpen) return true;
    const now = this.options.steady();
    if (now < this.#closedAgainAt) return false;
    this.#closedAgainAt = now + this.options.pauseMs;
    return true;
  }

  succeeded(): void {
    this.#failures = 0;
  }

  failed(): void {
    this.#failures += 1;
    if (this.isOpen) this.#closedAgainAt = this.options.steady() + this.options.pauseMs;
  }
}
