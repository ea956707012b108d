interface Sample {
  readonly at: number;
  readonly bytes: number;
}

/** A shorter time says more of a moment than of a rate. */
const LEAST_MS = 60_000;
const HOUR_MS = 3_600_000;

/** How fast the memory of Redis grows while nothing is archived, and how long the rest of it lasts. */
export class MemoryTrend {
  #first: Sample | undefined;
  #last: Sample | undefined;

  /** @param isLagging - whether the archive is behind: else what was measured is over. */
  note(at: number, bytes: number, isLagging: boolean): void {
    if (!isLagging) {
      this.#first = undefined;
      return;
    }
    this.#last = { at, bytes };
    this.#first ??= this.#last;
  }

  /** @returns `undefined` where it does not grow, or where that is not known yet. */
  hoursLeft(maxBytes: number): number | undefined {
    const [first, last] = [this.#first, this.#last];
    if (first === undefined || last === undefined || maxBytes === 0) return undefined;
    const ms = last.at - first.at;
    const grown = last.bytes - first.bytes;
    if (ms < LEAST_MS || grown <= 0) return undefined;
    return Math.max(0, ((maxBytes - last.bytes) / grown) * (ms / HOUR_MS));
  }
}
