import { Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { TerminusModule } from '@nestjs/terminus';
import { HUB_REDIS, WALLET_REDIS } from '../../platform/redis/redis.module.js';
import { HealthController } from './health.controller.js';
import { HealthService } from './health.service.js';
import { redisHealth } from './redis-health.js';

/** Health of every process, whatever its roles. Modules list their own indicators. */
@Module({
  imports: [DiscoveryModule, TerminusModule.forRoot({ logger: false })],
  controllers: [HealthController],
  providers: [
    HealthService,
    redisHealth('hub_redis', HUB_REDIS),
    redisHealth('wallet_redis', WALLET_REDIS),
  ],
})
export class HealthModule {}
