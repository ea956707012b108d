import { type DynamicModule, Inject, Module } from '@nestjs/common';
import { DatabasePools, type PoolName } from '../../platform/database/database-pools.js';
import { type Database, databaseOn } from './database.js';

const databaseOf = (pool: PoolName): string => `HISTORY_DATABASE_${pool}`;
const tablesOf = (pool: PoolName): string => `HISTORY_TABLES_${pool}`;

/** A `Database` on the pool of that name; the module imports `HistoryDatabase.on(name)`. */
export const InjectDatabase = (pool: PoolName): ParameterDecorator => Inject(databaseOf(pool));
/** Its `db` alone. */
export const InjectTables = (pool: PoolName): ParameterDecorator => Inject(tablesOf(pool));

/** The tables of the history, for what is imported only where there is a `DATABASE_URL`. */
@Module({})
export class HistoryDatabase {
  static on(...pools: readonly PoolName[]): DynamicModule {
    const providers = pools.flatMap((pool) => [
      {
        provide: databaseOf(pool),
        inject: [DatabasePools],
        useFactory: (opened: DatabasePools) => databaseOn(opened.of(pool)),
      },
      {
        provide: tablesOf(pool),
        inject: [databaseOf(pool)],
        useFactory: ({ db }: Database) => db,
      },
    ]);
    return { module: HistoryDatabase, providers, exports: providers };
  }
}
