import { Module } from '@nestjs/common';
import { PinoLogger } from 'nestjs-pino';
import { AppConfig } from '../../platform/config/app-config.js';
import { VERSION } from '../../platform/config/version.js';
import type { SharedRedis } from '../../platform/redis/ledger-connections.js';
import { LEDGER_REDIS } from '../../platform/redis/redis.module.js';
import { ProcessRegistry } from './process-registry.js';

@Module({
  providers: [
    {
      provide: ProcessRegistry,
      inject: [LEDGER_REDIS, AppConfig, PinoLogger],
      useFactory: async (
        redis: SharedRedis,
        { roles }: AppConfig,
        logger: PinoLogger,
      ): Promise<ProcessRegistry> => {
        const registry = new ProcessRegistry(
          redis,
          { roles: [...roles], version: VERSION },
          (error) => {
            logger.warn({ err: error }, 'this process could not register itself in Redis');
          },
        );
        await registry.start();
        return registry;
      },
    },
  ],
  exports: [ProcessRegistry],
})
export class ProcessesModule {}
