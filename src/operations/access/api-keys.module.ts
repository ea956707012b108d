import { Module, type OnModuleDestroy } from '@nestjs/common';
import { PinoLogger } from 'nestjs-pino';
import { AppConfig } from '../../platform/config/app-config.js';
import { PayeeAccess } from '../../platform/http/payee-access.js';
import { ApiKeyStore } from './api-key-store.js';
import { ApiKeysHealth } from './api-keys-health.js';

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
    ApiKeysHealth,
  ],
  exports: [ApiKeyStore, PayeeAccess],
})
export class ApiKeysModule implements OnModuleDestroy {
  constructor(private readonly keys: ApiKeyStore) {}

  onModuleDestroy(): void {
    this.keys.stop();
  }
}
