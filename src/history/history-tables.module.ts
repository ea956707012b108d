import { Module, type OnModuleDestroy } from '@nestjs/common';
import { PinoLogger } from 'nestjs-pino';
import { AppConfig } from '../platform/config/app-config.js';
import { DatabaseModule } from '../platform/database/database.module.js';
import { DatabasePools } from '../platform/database/database-pools.js';
import { HistoryTables } from './history-tables.js';
import { tablesState } from './postgres/migrator.js';
import { tablesLog } from './tables-log.js';

/** Imported only where there is a `DATABASE_URL`. */
@Module({
  imports: [DatabaseModule],
  providers: [
    {
      provide: HistoryTables,
      inject: [AppConfig, DatabasePools, PinoLogger],
      useFactory: (config: AppConfig, pools: DatabasePools, logger: PinoLogger) => {
        const makesThem = config.hasRole('history') && config.history?.migrates === true;
        const tables = new HistoryTables({
          look: () => tablesState(pools.of('background')),
          settles: config.hasRole('api') || config.hasRole('worker'),
          observer: makesThem ? undefined : tablesLog(logger, config.history?.databaseUrl),
        });
        tables.start();
        return tables;
      },
    },
  ],
  exports: [HistoryTables],
})
export class HistoryTablesModule implements OnModuleDestroy {
  constructor(private readonly tables: HistoryTables) {}

  async onModuleDestroy(): Promise<void> {
    await this.tables.stop();
  }
}
