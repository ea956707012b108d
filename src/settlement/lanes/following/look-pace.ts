const FIRST_MS = 50;
const MOST_MS = 500;

/** When a block is looked at again for what it does not show yet: less and less often. */
export class LookPace {
  #waitMs = 0;
  #at: number | undefined;

  /** Whether something is looked for. */
  get isOn(): boolean {
    return this.#at !== undefined;
  }

  /** @param now - milliseconds of a steady clock. */
  isDue(now: number): boolean {
    return this.#at !== undefined && now >= this.#at;
  }

  /** After a look. */
  note(isMissing: boolean, now: number): void {
    this.#waitMs = isMissing ? Math.min(Math.max(2 * this.#waitMs, FIRST_MS), MOST_MS) : 0;
    this.#at = isMissing ? now + this.#waitMs : undefined;
  }
}
