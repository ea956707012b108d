import type { FactoryProvider } from '@nestjs/common';
import { FeatureHealth, type HealthReport } from '../../platform/observability/feature-health.js';
import type { SharedRedis } from '../../platform/redis/ledger-connections.js';
import { LEDGER_REDIS } from '../../platform/redis/redis.module.js';

/** A separate Redis of one role. */
class RedisHealth extends FeatureHealth {
  constructor(
    readonly name: string,
    private readonly redis: SharedRedis,
  ) {
    super();
  }

  async report(): Promise<HealthReport> {
    await this.redis.ping();
    return { isUp: true, facts: {} };
  }
}

/** `undefined` where the role uses the Redis of the ledger. */
export function redisHealth(name: string, token: symbol): FactoryProvider<RedisHealth | undefined> {
  return {
    provide: `HEALTH_${name}`,
    inject: [token, LEDGER_REDIS],
    useFactory: (redis: SharedRedis, ledger: SharedRedis) =>
      redis === ledger ? undefined : new RedisHealth(name, redis),
  };
}
