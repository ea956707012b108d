import { Inject, Injectable } from '@nestjs/common';
import { PinoLogger } from 'nestjs-pino';

/** Beyond this many the oldest are let go: what they would give up frees itself in time. */
const DEFERRED_MAX = 10_000;
const AGAIN_MS = 1000;
const TOGETHER = 50;

/** The log line of a step that fails beside the requests. */
export const BACKGROUND_STEP_FAILED = 'a background step of a settle request failed';

type DeferredStep = () => Promise<unknown>;

/**
 * Steps that give something up in the ledger, and could not be taken while it was away. They are taken
 * when it is back.
 */
@Injectable()
export class DeferredSteps {
  readonly #steps: DeferredStep[] = [];
  #timer: NodeJS.Timeout | undefined;
  #isTaking = false;

  constructor(@Inject(PinoLogger) private readonly logger: Pick<PinoLogger, 'warn'>) {}

  defer(step: DeferredStep): void {
    if (this.#steps.length >= DEFERRED_MAX) {
      this.#steps.shift();
      const err = new Error('too many deferred ledger steps: the oldest one was dropped');
      this.logger.warn({ what: 'deferred ledger steps', err }, BACKGROUND_STEP_FAILED);
    }
    this.#steps.push(step);
    this.#timer ??= setInterval(() => void this.runAll(), AGAIN_MS).unref();
  }

  /** Takes the step now, or later where the ledger is away. */
  async runOrDefer(step: DeferredStep): Promise<void> {
    try {
      await step();
    } catch {
      this.defer(step);
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

  get count(): number {
    return this.#steps.length;
  }

  /** @returns whether the ledger took them all. */
  async #takeSome(): Promise<boolean> {
    const steps = this.#steps.splice(0, TOGETHER);
    const results = await Promise.allSettled(steps.map((step) => step()));
    const failed = steps.filter((_, index) => results[index]?.status === 'rejected');
    this.#steps.unshift(...failed);
    return failed.length === 0;
  }
}
