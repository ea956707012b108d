import { Module, type OnModuleDestroy } from '@nestjs/common';
import { PinoLogger } from 'nestjs-pino';
import { AppConfig } from '../../platform/config/app-config.js';
import { PayeeAccess } from '../../platform/http/payee-access.js';
import {
  HealthIndicators,
  INDICATOR_TIMEOUT_MS,
} from '../../platform/observability/health-indicators.js';
import { ApiKeyStore } from './api-key-store.js';

/** Imported only where `API_KEYS_FILE` is set. */
@Module({
  providers: [
    {
      provide: ApiKeyStore,
      inject: [AppConfig, PinoLogger],
      useFactory: async ({ access }: AppConfig, logger: PinoLogger): Promise<ApiKeyStore> => {
        const store = new ApiKeyStore(access.apiKeysFile ?? '', logger);
        await store.start();
        return store;
      },
    },
    { provide: PayeeAccess, useExisting: ApiKeyStore },
  ],
  exports: [ApiKeyStore, PayeeAccess],
})
export class ApiKeysModule implements OnModuleDestroy {
  constructor(
    private readonly keys: ApiKeyStore,
    indicators: HealthIndicators,
  ) {
    indicators.add({
      name: 'apiKeys',
      timeoutMs: INDICATOR_TIMEOUT_MS,
      // Never down: while a new file cannot be used, the keys read before are.
      report: () => {
        const { code } = this.keys.status;
        return Promise.resolve({ isUp: true, facts: code === undefined ? {} : { code } });
      },
    });
  }

  onModuleDestroy(): void {
    this.keys.stop();
  }
}
