import type { HealthIndicatorResult, HealthIndicatorService } from '@nestjs/terminus';
import { RedisUnavailableError } from '../../protocol/errors.js';
import { withTimeout } from '../concurrency/timing.js';

/** The report of an indicator. */
export interface HealthReport {
  /** Whether the deployment can do the work of this feature. */
  readonly isUp: boolean;
  /** A public detail, without URLs and texts of other systems. */
  readonly facts: Readonly<Record<string, unknown>>;
}

type HealthIndicatorSession = ReturnType<HealthIndicatorService['check']>;

/** Time limit, because probes need an answer within a second. */
export const HEALTH_TIMEOUT_MS = 700;

/**
 * The health check of one feature, which is one line of `GET /health`. It is a provider in the module of the feature.
 */
export abstract class FeatureHealth {
  abstract readonly name: string;
  /** Whether a process that is down here cannot answer truthfully, so that it is not ready either. */
  readonly gatesReadiness: boolean = false;
  /** Whether the check only reports numbers, so that a missing answer does not make the deployment down. */
  readonly informsOnly: boolean = false;

  /** Reports from memory or from a fast read; an exception counts as down. */
  abstract report(): HealthReport | Promise<HealthReport>;

  /** Never fails, and takes no longer than a probe waits. */
  async check(indicators: HealthIndicatorService): Promise<HealthIndicatorResult> {
    const indicator = indicators.check(this.name);
    try {
      const answer = await withTimeout(HEALTH_TIMEOUT_MS, Promise.resolve(this.report()));
      if (!answer.inTime) return this.#failed(indicator, 'no_answer');
      const { isUp, facts } = answer.value;
      return isUp ? indicator.up(facts) : indicator.down(facts);
    } catch (error) {
      const isLedger = error instanceof RedisUnavailableError;
      return this.#failed(indicator, isLedger ? 'redis_unreachable' : 'no_answer');
    }
  }

  #failed(indicator: HealthIndicatorSession, code: string): HealthIndicatorResult {
    return this.informsOnly ? indicator.up({ code }) : indicator.down({ code });
  }
}
