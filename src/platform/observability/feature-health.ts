import type { HealthIndicatorResult, HealthIndicatorService } from '@nestjs/terminus';
import { RedisUnavailableError } from '../../protocol/errors.js';
import { withTimeout } from '../concurrency/timing.js';

/** What an indicator says. */
export interface HealthReport {
  /** Whether the deployment can do what this indicator is about. */
  readonly isUp: boolean;
  /** A public detail: no URL, no text of another system. */
  readonly facts: Readonly<Record<string, unknown>>;
}

type HealthIndicatorSession = ReturnType<HealthIndicatorService['check']>;

/** Probes must get an answer within a second, whatever is down. */
export const HEALTH_TIMEOUT_MS = 700;

/** The indicator of one feature, a line of `GET /health`. Its module lists it as a provider, where it is found. */
export abstract class FeatureHealth {
  abstract readonly name: string;
  /** Whether a process that is down here cannot answer truthfully: then it is not ready either. */
  readonly gatesReadiness: boolean = false;
  /** Whether it only counts: that it has no answer now is no reason to call the deployment down. */
  readonly informsOnly: boolean = false;

  /** Answers from what is known or asks something near; a failure counts as down. */
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
