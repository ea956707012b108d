import { type DynamicModule, Inject, Module, type Provider } from '@nestjs/common';
import { DatabaseModule } from '../../platform/database/database.module.js';
import { DatabasePools, type PoolName } from '../../platform/database/database-pools.js';
import { Database, databaseOn } from './database.js';

/** What a {@link Database} is injected by where a module has more than one. */
const databaseOf = (pool: PoolName): string => `HISTORY_DATABASE_${pool}`;

/** What its tables are injected by. */
export const tablesOf = (pool: PoolName): string => `HISTORY_TABLES_${pool}`;

/** The tables, by the pool of that name; the module imports `HistoryDatabase.on(name)`. */
export const InjectTables = (pool: PoolName): ParameterDecorator => Inject(tablesOf(pool));

/** The tables of the history, for what is imported only where there is a `DATABASE_URL`. */
@Module({})
export class HistoryDatabase {
  /** With a single pool, {@link Database} is by that. */
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
