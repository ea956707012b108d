import type { Fault } from './faults/index.js';
import type { Counted } from './run.js';

/** How often everything was drawn that can go wrong. */
export class Tally {
  readonly #counts = new Map<string, number>();

  add(faults: readonly Fault[], deals: readonly Counted[]): void {
    for (const { kind } of faults) this.#count(kind);
    for (const { manner, trick } of deals) {
      this.#count(`payment: ${manner}`);
      if (trick !== undefined) this.#count(`payer: ${trick}`);
    }
  }

  /** Moments that came while a fault waited for them. */
  addReached(moments: readonly string[]): void {
    for (const moment of moments) this.#count(moment);
  }

  merge(counts: Readonly<Record<string, number>>): void {
    for (const [name, count] of Object.entries(counts)) this.#count(name, count);
  }

  counts(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#counts);
  }

  /** One line each, the most frequent first. */
  report(): string {
    return [...this.#counts]
      .sort(([a, one], [b, other]) => other - one || a.localeCompare(b))
      .map(([name, count]) => `${String(count).padStart(5)}  ${name}`)
      .join('\n');
  }

  #count(name: string, by = 1): void {
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + by);
  }
}
