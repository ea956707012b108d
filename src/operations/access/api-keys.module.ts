import { type DynamicModule, Global, Module, type OnModuleDestroy } from '@nestjs/common';
import { PinoLogger } from 'nestjs-pino';
import { PayeeAccess } from '../../platform/http/payee-access.js';
import {
  HealthIndicators,
  INDICATOR_TIMEOUT_MS,
} from '../../platform/observability/health-indicators.js';
import { ApiKeyStore } from './api-key-store.js';

/** Imported only where `API_KEYS_FILE` is set. */
@Global()
@Module({})
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

  static forRoot(file: string): DynamicModule {
    return {
      module: ApiKeysModule,
      providers: [
        {
          provide: ApiKeyStore,
          inject: [PinoLogger],
          useFactory: async (logger: PinoLogger): Promise<ApiKeyStore> => {
            const store = new ApiKeyStore(file, {
              loaded: (count) => {
                logger.info({ keys: count }, 'API keys read');
              },
              unusable: ({ message }) => {
                logger.error({ reason: message }, 'API keys not read; the former ones stay in use');
              },
            });
            await store.start();
            return store;
          },
        },
        { provide: PayeeAccess, useExisting: ApiKeyStore },
      ],
      exports: [ApiKeyStore, PayeeAccess],
    };
  }

  onModuleDestroy(): void {
    this.keys.stop();
  }
}
