import { Inject, Injectable } from '@nestjs/common';
import { PinoLogger } from 'nestjs-pino';

/** Above this number the oldest steps are dropped; the ledger frees their places by itself in time. */
const DEFERRED_MAX = 10_000;
const AGAIN_MS = 1000;
const TOGETHER = 50;

/** The log line of a step that fails beside the requests. */
export const BACKGROUND_STEP_FAILED = 'a background step of a settle request failed';

type DeferredStep = () => Promise<unknown>;

/**
 * Steps that give something up in the ledger. Steps that failed during an outage of the ledger are repeated after it.
 */
@Injectable()
export class DeferredSteps {
  readonly #steps: DeferredStep[] = [];
  #underWay = 0;
  #timer: NodeJS.Timeout | undefined;
  #isTaking = false;

  constructor(@Inject(PinoLogger) private readonly logger: Pick<PinoLogger, 'warn'>) {}

  defer(step: DeferredStep): void {
    if (this.#steps.length >= DEFERRED_MAX) {
      this.#steps.shift();
      const err = new Error('too many deferred ledger steps: the oldest step was dropped');
      this.logger.warn({ what: 'deferred ledger steps', err }, BACKGROUND_STEP_FAILED);
    }
    this.#steps.push(step);
    this.#timer ??= setInterval(() => void this.runAll(), AGAIN_MS).unref();
  }

  /** Runs the step now, or later if the ledger is unreachable. */
  async runOrDefer(step: DeferredStep): Promise<void> {
    this.#underWay += 1;
    try {
      await step();
    } catch {
      this.defer(step);
    } finally {
      this.#underWay -= 1;
    }
  }

  async runAll(): Promise<void> {
    if (this.#isTaking) return;
    this.#isTaking = true;
    try {
      while (this.#steps.length > 0 && (await this.#takeSome()));
    } finally {
      this.#isTaking = false;
    }
    if (this.#steps.length > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** How many steps are not finished, including those in progress. */
  get count(): number {
    return this.#steps.length + this.#underWay;
  }

  /** @returns whether the ledger has run them all. */
  async #takeSome(): Promise<boolean> {
    const steps = this.#steps.splice(0, TOGETHER);
    this.#underWay += steps.length;
    const results = await Promise.allSettled(steps.map((step) => step()));
    this.#underWay -= steps.length;
    const failed = steps.filter((_, index) => results[index]?.status === 'rejected');
    this.#steps.unshift(...failed);
    return failed.length === 0;
  }
}
