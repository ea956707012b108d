import { Injectable } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import {
  type HealthCheckResult,
  HealthCheckService,
  type HealthIndicatorResult,
  HealthIndicatorService,
} from '@nestjs/terminus';
import { withTimeout } from '../../platform/concurrency/timing.js';
import { AtShutdown } from '../../platform/lifecycle/at-shutdown.js';
import { FeatureHealth, HEALTH_TIMEOUT_MS } from '../../platform/observability/feature-health.js';
import { RedisWatch } from '../../platform/redis/redis-watch.js';

/** Answers from known state; it asks only Redis. */
@Injectable()
export class HealthService {
  #found: readonly FeatureHealth[] | undefined;
  #isDraining = false;

  constructor(
    private readonly health: HealthCheckService,
    private readonly sessions: HealthIndicatorService,
    private readonly discovery: DiscoveryService,
    private readonly redis: RedisWatch,
  ) {}

  /** From now on this process accepts no new requests. */
  @AtShutdown('announce', 'readiness')
  drain(): void {
    this.#isDraining = true;
  }

  /** Can this process answer truthfully? */
  ready(): Promise<HealthCheckResult> {
    const needed = this.#features.filter(({ gatesReadiness }) => gatesReadiness);
    const others = needed.map((feature) => () => feature.check(this.sessions));
    return this.health.check([() => this.#redis(false), () => this.#process(), ...others]);
  }

  /** Can this deployment settle now? */
  deployment(): Promise<HealthCheckResult> {
    const others = this.#features.map((feature) => () => feature.check(this.sessions));
    return this.health.check([() => this.#redis(true), ...others]);
  }

  /** The indicators that modules list. */
  get #features(): readonly FeatureHealth[] {
    this.#found ??= [
      ...new Set(this.discovery.getProviders().map(({ instance }): unknown => instance)),
    ].filter((one) => one instanceof FeatureHealth);
    return this.#found;
  }

  /** @param isFull - also reads the set-up of Redis, which takes more than a round trip. */
  async #redis(isFull: boolean): Promise<HealthIndicatorResult> {
    const session = this.sessions.check('redis');
    try {
      const asked = Promise.all([this.redis.roundTripMs(), isFull && this.redis.setUp()]);
      const answer = await withTimeout(HEALTH_TIMEOUT_MS, asked);
      if (!answer.inTime) return session.down({ code: 'redis_unreachable' });
      const [roundTripMs, setUp] = answer.value;
      return session.up({
        roundTripMs: Math.round(roundTripMs),
        ...(setUp !== false && {
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
}
