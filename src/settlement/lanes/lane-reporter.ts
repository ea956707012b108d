import type { LaneSwitch } from '../ledger/queries/lane-queries.js';
import type { LaneStatus } from '../model/lane-status.js';
import type { ChainWorker } from './chain-worker.js';
import { isPassing } from './lane-errors.js';
import type { LaneObserver } from './lane-observer.js';
import type { LaneSlot } from './state/lane-slot.js';

export interface LaneReporterOptions {
  readonly workers: readonly ChainWorker[];
  /** Lanes that an operator has paused, or retires. */
  readonly switched: (which: LaneSwitch) => Promise<{ has(lane: string): boolean }>;
  readonly publish: (status: LaneStatus) => Promise<void>;
  readonly observer: LaneObserver;
}

const REPORT_INTERVAL_MS = 1000;

/** Says every second how the lanes of this process are, and has what nobody brought picked up. */
export class LaneReporter {
  #timer: NodeJS.Timeout | undefined;
  #isReporting = false;

  constructor(private readonly options: LaneReporterOptions) {}

  async start(): Promise<void> {
    // Sellers that ask at once what is supported shall find the signers.
    await this.report();
    this.#timer = setInterval(() => void this.report(), REPORT_INTERVAL_MS);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  async report(): Promise<void> {
    if (this.#isReporting) return;
    this.#isReporting = true;
    try {
      const { workers } = this.options;
      await this.#guard('switches', () => this.#readSwitches());
      // One chain, or one lane, that does not answer says nothing about the others.
      await Promise.all([
        ...workers.map((worker) => this.#guard('sweep', () => worker.sweep())),
        ...this.#slots.map((slot) => this.#guard('report', () => this.#reportLane(slot))),
      ]);
    } finally {
      this.#isReporting = false;
    }
  }

  /** What a lane says of itself has changed in a way that others should hear of now. */
  async reportLane(lane: string): Promise<void> {
    const slot = this.#slots.find(({ runner }) => runner.lane === lane);
    if (slot !== undefined) await this.#guard('report', () => this.#publish(slot));
  }

  get #slots(): readonly LaneSlot[] {
    return this.options.workers.flatMap(({ slots }) => slots);
  }

  async #readSwitches(): Promise<void> {
    const { switched } = this.options;
    const [paused, retiring] = await Promise.all([switched('paused'), switched('retiring')]);
    for (const { runner } of this.#slots) {
      runner.isPaused = paused.has(runner.lane);
      runner.state.isRetired = retiring.has(runner.lane);
    }
  }

  async #reportLane(slot: LaneSlot): Promise<void> {
    if (slot.held === undefined) return;
    await this.#guard('balance', () => slot.runner.refresh());
    await this.#publish(slot);
  }

  async #publish({ held, runner }: LaneSlot): Promise<void> {
    if (held !== undefined) await this.options.publish(runner.status());
  }

  /** The next round is a second away; what does not pass by itself somebody has to look at. */
  async #guard(what: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (!isPassing(error)) this.options.observer.failed('lanes', what, error);
    }
  }
}
