import { Global, Module } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { AppConfig } from '../config/app-config.js';
import { VERSION } from '../config/version.js';
import { LEDGER_REDIS } from '../redis/redis.module.js';
import { ProcessRegistry } from './process-registry.js';

@Global()
@Module({
  providers: [
    {
      provide: ProcessRegistry,
      inject: [LEDGER_REDIS, AppConfig],
      useFactory: async (redis: Redis, { roles }: AppConfig): Promise<ProcessRegistry> => {
        const registry = new ProcessRegistry(redis, { roles: [...roles], version: VERSION });
        await registry.start();
        return registry;
      },
    },
  ],
  exports: [ProcessRegistry],
})
export class ProcessesModule {}
