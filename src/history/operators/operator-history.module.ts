import { Module } from '@nestjs/common';
import { systemClock } from '../../platform/concurrency/clock.js';
import { AppConfig } from '../../platform/config/app-config.js';
import { DatabasePools } from '../../platform/database/database-pools.js';
import { databaseOn } from '../postgres/database.js';
import { PostgresOperatorArchive } from '../postgres/postgres-operator-archive.js';
import type { OperatorArchive } from './operator-archive.js';
import { OperatorHistory } from './operator-history.js';
import { SettlementPasts } from './settlement-past.js';

/** `undefined` without a history. */
const ARCHIVE = Symbol('OPERATOR_ARCHIVE');
const now = (): number => systemClock.now();

/** What the operator page shows of the history. */
@Module({
  providers: [
    {
      provide: ARCHIVE,
      inject: [AppConfig, DatabasePools],
      useFactory: (config: AppConfig, pools: DatabasePools): OperatorArchive | undefined =>
        config.history &&
        new PostgresOperatorArchive(
          databaseOn(pools.of('operators')),
          databaseOn(pools.of('operatorTotals')),
        ),
    },
    {
      provide: OperatorHistory,
      inject: [ARCHIVE],
      useFactory: (archive: OperatorArchive | undefined) => new OperatorHistory(archive, now),
    },
    {
      provide: SettlementPasts,
      inject: [ARCHIVE],
      useFactory: (archive: OperatorArchive | undefined) => new SettlementPasts(archive, now),
    },
  ],
  exports: [OperatorHistory, SettlementPasts],
})
export class OperatorHistoryModule {}
