import { type DynamicModule, Global, Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import type { AppConfig } from '../../platform/config/app-config.js';
import { AccessPolicy } from '../../platform/http/access.js';
import { ClientAddresses } from '../../platform/http/client-address.js';
import { RateLimiter } from '../../platform/rate-limit/rate-limiter.js';
import type { SharedRedis } from '../../platform/redis/ledger-connections.js';
import { LEDGER_REDIS } from '../../platform/redis/redis.module.js';
import { AccessGuard } from './access.guard.js';
import { ApiKeyStore } from './api-key-store.js';
import { RequestAccess } from './request-access.js';

/** Imported only where there are keys or limits: an open service has nothing to decide. */
@Global()
@Module({})
export class AccessModule {
  static forRoot({ access, trustProxy }: AppConfig): DynamicModule {
    return {
      module: AccessModule,
      providers: [
        {
          provide: AccessPolicy,
          inject: [LEDGER_REDIS, ...(access.apiKeysFile === undefined ? [] : [ApiKeyStore])],
          useFactory: (redis: SharedRedis, keys?: ApiKeyStore) =>
            new RequestAccess({
              keys,
              limits: access.rateLimits,
              limiter: new RateLimiter(redis, 'facilitator'),
              addresses: new ClientAddresses(trustProxy),
            }),
        },
        { provide: APP_GUARD, useClass: AccessGuard },
      ],
      exports: [AccessPolicy],
    };
  }
}
