interface CircuitBreakerOptions {
  /** Consecutive failures that open the circuit. */
  readonly failuresMost: number;
  /** Milliseconds for which an open circuit refuses calls; after it, one trial call is allowed. */
  readonly pauseMs: number;
  readonly steady: () => number;
}

/** A circuit breaker: callers do not wait for a dependency that has just failed several times. */
export class CircuitBreaker {
  #failures = 0;
  #closedAgainAt = -Infinity;

  constructor(private readonly options: CircuitBreakerOptions) {}

  get isOpen(): boolean {
    return this.#failures >= this.options.failuresMost;
  }

  /** Whether a call is allowed now. An open circuit allows one call per pause. */
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
