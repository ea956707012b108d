import { Injectable } from '@nestjs/common';
import {
  type HealthCheckResult,
  HealthCheckService,
  type HealthIndicatorResult,
  HealthIndicatorService,
} from '@nestjs/terminus';
import { within } from '../../platform/concurrency/timing.js';
import { AtShutdown } from '../../platform/lifecycle/at-shutdown.js';
import {
  HealthIndicators,
  type Indicator,
  INDICATOR_TIMEOUT_MS,
} from '../../platform/observability/health-indicators.js';
import { RedisWatch } from '../../platform/redis/redis-watch.js';
import { RedisUnavailableError } from '../../protocol/errors.js';

/** Answers from what is known; asks nobody but Redis. */
@Injectable()
export class HealthService {
  #isDraining = false;

  constructor(
    private readonly health: HealthCheckService,
    private readonly sessions: HealthIndicatorService,
    private readonly indicators: HealthIndicators,
    private readonly redis: RedisWatch,
  ) {}

  /** From now on this process wants no new requests. */
  @AtShutdown('announce', 'readiness')
  drain(): void {
    this.#isDraining = true;
  }

  /** Can this process answer truthfully? */
  ready(): Promise<HealthCheckResult> {
    const needed = this.indicators.all.filter(({ gatesReadiness }) => gatesReadiness);
    const others = needed.map((indicator) => () => this.#ask(indicator));
    return this.health.check([() => this.#redis(false), () => this.#process(), ...others]);
  }

  /** Can this deployment settle now? */
  deployment(): Promise<HealthCheckResult> {
    const others = this.indicators.all.map((indicator) => () => this.#ask(indicator));
    return this.health.check([() => this.#redis(true), ...others]);
  }

  /** @param isFull - with how Redis is set up, which takes more than a round trip. */
  async #redis(isFull: boolean): Promise<HealthIndicatorResult> {
    const session = this.sessions.check('redis');
    try {
      const [roundTripMs, setUp] = await answerOf(
        INDICATOR_TIMEOUT_MS,
        Promise.all([this.redis.roundTripMs(), isFull ? this.redis.setUp() : undefined]),
      );
      return session.up({
        roundTripMs: Math.round(roundTripMs),
        ...(setUp !== undefined && {
          aof: setUp.aof ?? 'unknown',
          evictionPolicy: setUp.evictionPolicy ?? 'unknown',
          warnings: setUp.warnings,
        }),
      });
    } catch {
      return session.down({ code: 'redis_unreachable' });
    }
  }

  #process(): HealthIndicatorResult {
    const session = this.sessions.check('process');
    return this.#isDraining ? session.down({ code: 'draining' }) : session.up();
  }

  async #ask({ name, timeoutMs, report }: Indicator): Promise<HealthIndicatorResult> {
    const session = this.sessions.check(name);
    try {
      const { isUp, facts } = await answerOf(timeoutMs, report());
      return isUp ? session.up(facts) : session.down(facts);
    } catch (error) {
      const isLedger = error instanceof RedisUnavailableError;
      return session.down({ code: isLedger ? 'redis_unreachable' : 'no_answer' });
    }
  }
}

/** @throws Error when it takes longer; an indicator that does not answer is down. */
async function answerOf<T>(ms: number, answer: Promise<T>): Promise<T> {
  const answered = await within(ms, answer);
  if (!answered.inTime) throw new Error('no answer in time');
  return answered.value;
}
