import type { Clock } from '../../../platform/concurrency/clock.js';

/** Weight of a new measurement. */
const WEIGHT = 0.1;

/** The recent speed of a lane. */
export class InclusionRate {
  #inclusionMs = 0;
  #perSecond = 0;
  #counted = 0;
  #countedSince: number;

  constructor(private readonly clock: Clock) {
    this.#countedSince = clock.steady();
  }

  /** Milliseconds from the first send to inclusion; 0 before there was one. */
  get inclusionMs(): number {
    return Math.round(this.#inclusionMs);
  }

  noteInclusion(latencyMs: number, settlements: number): void {
    this.#inclusionMs =
      this.#inclusionMs === 0 ? latencyMs : this.#inclusionMs * (1 - WEIGHT) + latencyMs * WEIGHT;
    this.#counted += settlements;
    const elapsedMs = this.clock.steady() - this.#countedSince;
    if (elapsedMs < 1000) return;
    const rate = (this.#counted / elapsedMs) * 1000;
    // A reached rate can be reached again: only a faster second corrects the figure at once.
    this.#perSecond = Math.max(rate, this.#perSecond * (1 - WEIGHT));
    this.#counted = 0;
    this.#countedSince = this.clock.steady();
  }

  /** Settlements a second: the measured rate, or at least what its window allows. */
  perSecond(window: number, batchMax: number): number {
    const inclusionMs = this.#inclusionMs === 0 ? 1000 : this.#inclusionMs;
    const byWindow = (window * Math.sqrt(batchMax) * 1000) / inclusionMs;
    return Math.round(Math.max(this.#perSecond, byWindow));
  }
}
