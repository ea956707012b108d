import { Injectable } from '@nestjs/common';
import { DiscoveryService, MetadataScanner } from '@nestjs/core';
import { Logger } from 'nestjs-pino';
import { withTimeout } from '../concurrency/timing.js';
import { AppConfig } from '../config/app-config.js';
import {
  CLOSING_MS,
  SHUTDOWN_PHASES,
  SHUTDOWN_STEP,
  type ShutdownPhase,
  type ShutdownStep,
} from './at-shutdown.js';

interface Step extends ShutdownStep {
  readonly take: () => Promise<unknown>;
}

const LEAVE_TIME: ReadonlySet<ShutdownPhase> = new Set(['hand-over', 'requests', 'webhooks']);

/** Shuts this process down by the steps that providers mark with `AtShutdown`. */
@Injectable()
export class ShutdownOrder {
  constructor(
    private readonly config: AppConfig,
    private readonly discovery: DiscoveryService,
    private readonly methods: MetadataScanner,
    private readonly logger: Logger,
  ) {}

  /**
   * Runs every step within `SHUTDOWN_GRACE_MS`, also after failures, except those of the phase `ledgers`.
   *
   * @param close - closes the connections; the last step.
   * @throws AggregateError with all failures and time-outs; each is logged.
   */
  async run(close: () => Promise<void>): Promise<void> {
    this.logger.log('draining');
    const deadline = Date.now() + this.config.shutdownGraceMs;
    const steps = this.#steps();
    const failures: unknown[] = [];
    const take = async (step: string, until: number, task: Step['take']): Promise<void> => {
      try {
        const { inTime } = await withTimeout(until - Date.now(), task());
        if (!inTime) throw new Error(`${step} did not finish within SHUTDOWN_GRACE_MS`);
      } catch (error) {
        failures.push(error);
        this.logger.error({ err: error, step }, 'a shutdown step failed');
      }
    };
    for (const phase of SHUTDOWN_PHASES) {
      // A step that timed out may still write.
      if (phase === 'ledgers' && failures.length > 0) continue;
      const until = LEAVE_TIME.has(phase) ? deadline - CLOSING_MS : deadline;
      const due = steps.filter((step) => step.phase === phase);
      await Promise.all(due.map((step) => take(step.step, until, step.take)));
    }
    await take('closing', deadline, close);
    if (failures.length > 0) throw new AggregateError(failures, 'draining failed');
    this.logger.log('drained');
  }

  #steps(): readonly Step[] {
    const instances = new Set<unknown>(
      this.discovery.getProviders().map(({ instance }): unknown => instance),
    );
    return [...instances].flatMap((instance) =>
      typeof instance === 'object' && instance !== null ? this.#stepsOf(instance) : [],
    );
  }

  #stepsOf(instance: object): readonly Step[] {
    const prototype = Object.getPrototypeOf(instance) as object | null;
    return this.methods.getAllMethodNames(prototype).flatMap((name) => {
      const method: unknown = Reflect.get(instance, name);
      if (typeof method !== 'function') return [];
      const step = Reflect.getMetadata(SHUTDOWN_STEP, method) as ShutdownStep | undefined;
      if (step === undefined) return [];
      return [
        {
          ...step,
          take: () => Promise.resolve().then(() => Reflect.apply(method, instance, []) as unknown),
        },
      ];
    });
  }
}
