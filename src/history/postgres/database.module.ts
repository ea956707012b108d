import { type DynamicModule, Inject, Module, type Provider } from '@nestjs/common';
import { DatabaseModule } from '../../platform/database/database.module.js';
import { DatabasePools, type PoolName } from '../../platform/database/database-pools.js';
import { Database, databaseOn } from './database.js';

/** The token of a {@link Database} in a module with several pools. */
const databaseOf = (pool: PoolName): string => `HISTORY_DATABASE_${pool}`;

/** The token of the tables of a pool. */
export const tablesOf = (pool: PoolName): string => `HISTORY_TABLES_${pool}`;

/** Injects the database of a pool. Its module imports `HistoryDatabase.on(name)`. */
export const InjectDatabase = (pool: PoolName): ParameterDecorator => Inject(databaseOf(pool));

/** Injects the tables of a pool. */
export const InjectTables = (pool: PoolName): ParameterDecorator => Inject(tablesOf(pool));

/** The tables of the history, for modules that are imported only with `DATABASE_URL`. */
@Module({})
export class HistoryDatabase {
  /** With a single pool, the class {@link Database} is its token too. */
  static on(...pools: readonly PoolName[]): DynamicModule {
    const [only] = pools;
    const providers: Provider[] = [
      ...pools.flatMap((pool) => [
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
      ]),
      ...(pools.length === 1 && only !== undefined
        ? [{ provide: Database, useExisting: databaseOf(only) }]
        : []),
    ];
    return { module: HistoryDatabase, imports: [DatabaseModule], providers, exports: providers };
  }
}
