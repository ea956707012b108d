import { Module } from '@nestjs/common';
import { AppConfig } from '../../platform/config/app-config.js';
import { DatabaseModule } from '../../platform/database/database.module.js';
import { DatabasePools } from '../../platform/database/database-pools.js';
import { databaseOn } from '../postgres/database.js';
import { PostgresOperatorArchive } from '../postgres/postgres-operator-archive.js';
import { OPERATOR_ARCHIVE, type OperatorArchive } from './operator-archive.js';
import { OperatorHistory } from './operator-history.js';
import { SettlementPasts } from './settlement-past.js';

/** What the operator page shows of the history. */
@Module({
  imports: [DatabaseModule],
  providers: [
    {
      provide: OPERATOR_ARCHIVE,
      inject: [AppConfig, DatabasePools],
      useFactory: (config: AppConfig, pools: DatabasePools): OperatorArchive | undefined =>
        config.history &&
        new PostgresOperatorArchive(
          databaseOn(pools.of('operators')),
          databaseOn(pools.of('operatorTotals')),
        ),
    },
    OperatorHistory,
    SettlementPasts,
  ],
  exports: [OperatorHistory, SettlementPasts],
})
export class OperatorHistoryModule {}
