import { type DynamicModule, Inject, Module } from '@nestjs/common';
import { DatabaseModule } from '../../platform/database/database.module.js';
import { DatabasePools, type PoolName } from '../../platform/database/database-pools.js';
import { databaseOn } from './database.js';

/** What the tables are injected by. */
export const tablesOf = (pool: PoolName): string => `HISTORY_TABLES_${pool}`;

/** The tables, by the pool of that name; the module imports `HistoryDatabase.on(name)`. */
export const InjectTables = (pool: PoolName): ParameterDecorator => Inject(tablesOf(pool));

/** The tables of the history, for what is imported only where there is a `DATABASE_URL`. */
@Module({})
export class HistoryDatabase {
  static on(...pools: readonly PoolName[]): DynamicModule {
    const providers = pools.map((pool) => ({
      provide: tablesOf(pool),
      inject: [DatabasePools],
      useFactory: (opened: DatabasePools) => databaseOn(opened.of(pool)).db,
    }));
    return { module: HistoryDatabase, imports: [DatabaseModule], providers, exports: providers };
  }
}
