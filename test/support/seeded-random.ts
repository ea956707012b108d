/**
 * Numbers that look random and are the same for the same seed (the mulberry32 generator), so that a run
 * that failed can be had again.
 */
export class SeededRandom {
  #state: number;

  constructor(readonly seed: number) {
    this.#state = seed >>> 0;
  }

  /** From 0, below 1. */
  roll(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** A whole number from 0, below the bound. */
  below(bound: number): number {
    return Math.floor(this.roll() * bound);
  }

  /** A whole number in [least, most]. */
  between(least: number, most: number): number {
    return least + this.below(most - least + 1);
  }

  chance(probability: number): boolean {
    return this.roll() < probability;
  }

  pick<T>(choices: readonly T[]): T {
    const chosen = choices[this.below(choices.length)];
    if (chosen === undefined) throw new RangeError('nothing to pick from');
    return chosen;
  }

  /** At most so many of them, in the order they have. */
  some<T>(choices: readonly T[], most: number): readonly T[] {
    const chosen = new Set<number>();
    const count = Math.min(most, choices.length);
    while (chosen.size < count) chosen.add(this.below(choices.length));
    return choices.filter((_, index) => chosen.has(index));
  }

  hex(bytes: number): string {
    return `0x${Array.from({ length: bytes }, () => this.below(256).toString(16).padStart(2, '0')).join('')}`;
  }
}
