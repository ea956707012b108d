import { type DynamicModule, Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import type { AppConfig } from '../../platform/config/app-config.js';
import { AccessPolicy } from '../../platform/http/access.js';
import { HttpModule } from '../../platform/http/http.module.js';
import { AccessGuard } from './access.guard.js';
import { ApiKeysModule } from './api-keys.module.js';
import { AccessLimiter, RequestAccess } from './request-access.js';

/** Imported only where there are keys or limits: an open service has nothing to check. */
@Module({})
export class AccessModule {
  static forRoot({ access }: AppConfig): DynamicModule {
    return {
      module: AccessModule,
      imports: [HttpModule, ...(access.apiKeysFile === undefined ? [] : [ApiKeysModule])],
      providers: [
        AccessLimiter,
        { provide: AccessPolicy, useClass: RequestAccess },
        { provide: APP_GUARD, useClass: AccessGuard },
      ],
    };
  }
}
