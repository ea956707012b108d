/** How long a sender may take for each {@link STEP_BYTES} of a body, or for its end. */
const STEP_MS = 10_000;
const STEP_BYTES = 65_536;

/**
 * The least speed of a body: what is held for it is held longer only while it goes on. Only the time in which the
 * sender is waited for counts.
 */
export class Pace {
  #bytes = 0;
  #waitedMs = 0;
  #since = 0;
  #timer: NodeJS.Timeout | undefined;

  /** The sender is waited for from now on. @param onSlow - called when that took too long. */
  wait(onSlow: () => void): void {
    this.#since = performance.now();
    this.#timer = setTimeout(onSlow, Math.max(0, STEP_MS - this.#waitedMs));
  }

  /** The sender has sent so much. */
  got(bytes: number): void {
    this.stop();
    this.#waitedMs += performance.now() - this.#since;
    this.#bytes += bytes;
    if (this.#bytes < STEP_BYTES) return;
    this.#bytes = 0;
    this.#waitedMs = 0;
  }

  stop(): void {
    clearTimeout(this.#timer);
  }
}
