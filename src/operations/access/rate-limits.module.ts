import { type DynamicModule, type ExecutionContext, Module } from '@nestjs/common';
import { APP_GUARD, Reflector } from '@nestjs/core';
import { ThrottlerModule } from '@nestjs/throttler';
import type { Request } from 'express';
import type { Redis } from 'ioredis';
import type { AccessConfig, RateLimitBucket } from '../../platform/config/access-settings.js';
import { callerOf, RateLimited } from '../../platform/http/access.js';
import { RateLimiter } from '../../platform/rate-limit/rate-limiter.js';
import { LEDGER_REDIS } from '../../platform/redis/redis.module.js';
import { RateLimitGuard } from './rate-limit.guard.js';
import { SharedRateStorage } from './shared-rate-storage.js';

type RateLimits = AccessConfig['rateLimits'];

/** Imported only where a limit is set: without one nothing is counted and Redis is not asked. */
@Module({})
export class RateLimitsModule {
  static forRoot(limits: RateLimits): DynamicModule {
    return {
      module: RateLimitsModule,
      imports: [
        ThrottlerModule.forRootAsync({
          inject: [LEDGER_REDIS, Reflector],
          useFactory: (redis: Redis, reflector: Reflector) => {
            const bucketOf = (context: ExecutionContext): RateLimitBucket | undefined =>
              reflector.getAllAndOverride(RateLimited, [context.getHandler(), context.getClass()]);
            const limitOf = (context: ExecutionContext): number => {
              const bucket = bucketOf(context);
              return bucket === undefined ? 0 : limits[bucket];
            };
            return {
              storage: new SharedRateStorage(new RateLimiter(redis, 'facilitator')),
              throttlers: [{ ttl: 1000, limit: limitOf }],
              skipIf: (context) => limitOf(context) === 0,
              // The address where there is no key comes from the guard.
              generateKey: (context, address) => {
                const caller = callerOf(context.switchToHttp().getRequest<Request>());
                const name = caller === undefined ? `ip:${address}` : `key:${caller}`;
                return `${bucketOf(context) ?? ''}:${name}`;
              },
            };
          },
        }),
      ],
      providers: [{ provide: APP_GUARD, useClass: RateLimitGuard }],
    };
  }
}
