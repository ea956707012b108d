import { Global, Inject, Module, type OnModuleInit } from '@nestjs/common';
import { TerminusModule } from '@nestjs/terminus';
import {
  HealthIndicators,
  INDICATOR_TIMEOUT_MS,
} from '../../platform/observability/health-indicators.js';
import type { SharedRedis } from '../../platform/redis/ledger-connections.js';
import { HUB_REDIS, LEDGER_REDIS, WALLET_REDIS } from '../../platform/redis/redis.module.js';
import { HealthController } from './health.controller.js';
import { HealthService } from './health.service.js';

/** What every process reports, whatever its roles. Modules add their own indicators. */
@Global()
@Module({
  imports: [TerminusModule.forRoot({ logger: false })],
  controllers: [HealthController],
  providers: [HealthService, HealthIndicators],
  exports: [HealthService, HealthIndicators],
})
export class HealthModule implements OnModuleInit {
  constructor(
    private readonly indicators: HealthIndicators,
    @Inject(LEDGER_REDIS) private readonly ledger: SharedRedis,
    @Inject(HUB_REDIS) private readonly hub: SharedRedis,
    @Inject(WALLET_REDIS) private readonly wallet: SharedRedis,
  ) {}

  /** The ledger's Redis is looked at by the service; those that are apart from it are looked at here. */
  onModuleInit(): void {
    for (const [name, redis] of [
      ['hub_redis', this.hub],
      ['wallet_redis', this.wallet],
    ] as const) {
      if (redis === this.ledger) continue;
      this.indicators.add({
        name,
        timeoutMs: INDICATOR_TIMEOUT_MS,
        report: async () => {
          await redis.ping();
          return { isUp: true, facts: {} };
        },
      });
    }
  }
}
