/** Lines of one kind that are written before the rest of the window is only counted. */
const LINES_PER_WINDOW = 20;
const WINDOW_MS = 10_000;
/** Kinds told apart at a time; beyond, the oldest window is forgotten. */
const KINDS_MAX = 500;

interface Window {
  readonly since: number;
  lines: number;
  dropped: number;
}

/** Whether a line is written, and how many of its kind were left out since the last one that was. */
export interface LineDecision {
  readonly isWritten: boolean;
  readonly dropped: number;
}

/**
 * Bounds the lines a lasting fault writes: a Redis without memory fails every call of every lane, and a
 * thousand equal lines a second hide the one that says why.
 */
export class LogThrottle {
  readonly #windows = new Map<string, Window>();

  /** @param now - milliseconds of any clock that does not go back. */
  decide(kind: string, now: number): LineDecision {
    const window = this.#windows.get(kind);
    if (window === undefined || now - window.since >= WINDOW_MS) {
      this.#windows.delete(kind);
      this.#windows.set(kind, { since: now, lines: 1, dropped: 0 });
      this.#forgetOldest();
      return { isWritten: true, dropped: window?.dropped ?? 0 };
    }
    if (window.lines < LINES_PER_WINDOW) {
      window.lines += 1;
      return { isWritten: true, dropped: 0 };
    }
    window.dropped += 1;
    return { isWritten: false, dropped: 0 };
  }

  #forgetOldest(): void {
    if (this.#windows.size <= KINDS_MAX) return;
    const [oldest] = this.#windows.keys();
    if (oldest !== undefined) this.#windows.delete(oldest);
  }
}
