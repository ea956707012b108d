import type { Clock } from '../../platform/concurrency/clock.js';
import type { LaneSwitch } from '../ledger/queries/lane-queries.js';
import type { LaneStatus } from '../model/lane-status.js';
import type { ChainWorker } from './chain-worker.js';
import { isTransient } from './lane-errors.js';
import type { LaneObserver } from './lane-observer.js';
import type { LaneSlot } from './state/lane-slot.js';

interface LaneReporterOptions {
  readonly workers: readonly ChainWorker[];
  /** Lanes that an operator has paused, or retires. */
  readonly switched: (which: LaneSwitch) => Promise<{ has(lane: string): boolean }>;
  readonly publish: (status: LaneStatus) => Promise<void>;
  readonly observer: LaneObserver;
  readonly clock: Clock;
}

const REPORT_INTERVAL_MS = 1000;
const BALANCE_TIMEOUT_MS = 1000;

/**
 * Reports the state of this process's lanes every second, and runs the sweep for settlements whose job did not arrive.
 */
export class LaneReporter {
  #timer: NodeJS.Timeout | undefined;
  readonly #underWay = new Set<object>();

  constructor(private readonly options: LaneReporterOptions) {}

  async start(): Promise<void> {
    // Sellers that ask at once for the supported kinds must find the signers.
    await this.report();
    this.#timer = setInterval(() => void this.report(), REPORT_INTERVAL_MS);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /**
   * A chain or a lane that does not answer must not hide the others. A report still running from an earlier round
   * delays only itself: a silent lane counts as one without a holder.
   */
  async report(): Promise<void> {
    const { workers } = this.options;
    await this.#once(this, () => this.#guard('switches', () => this.#readSwitches()));
    await Promise.all([
      ...workers.map((worker) =>
        this.#once(worker, () => this.#guard('sweep', () => worker.sweep())),
      ),
      ...this.#slots.map((slot) =>
        this.#once(slot, () => this.#guard('report', () => this.#reportLane(slot))),
      ),
    ]);
  }

  /** The status of a lane has changed in a way that others should know at once. */
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
    const refreshed = this.#once(slot.runner, () =>
      this.#guard('balance', () => slot.runner.refresh()),
    );
    // The status contains the balance, unless the node is slow.
    await Promise.race([refreshed, this.options.clock.sleep(BALANCE_TIMEOUT_MS)]);
    await this.#publish(slot);
  }

  /** Skips work that is still in progress. */
  async #once(what: object, work: () => Promise<void>): Promise<void> {
    if (this.#underWay.has(what)) return;
    this.#underWay.add(what);
    try {
      await work();
    } finally {
      this.#underWay.delete(what);
    }
  }

  async #publish({ held, runner }: LaneSlot): Promise<void> {
    if (held !== undefined) await this.options.publish(runner.status());
  }

  /** The next round follows in a second; an error that lasts needs an operator. */
  async #guard(what: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (!isTransient(error)) this.options.observer.failed('lanes', what, error);
    }
  }
}
