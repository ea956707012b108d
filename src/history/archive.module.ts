import { type DynamicModule, Global, Module } from '@nestjs/common';
import { Clock } from '../platform/concurrency/clock.js';
import type { AppConfig } from '../platform/config/app-config.js';
import { DatabaseModule } from '../platform/database/database.module.js';
import { DatabasePools } from '../platform/database/database-pools.js';
import { NO_ARCHIVE, SETTLEMENT_ARCHIVE } from '../settlement/ledger/settlement-archive.js';
import { BoundedArchive } from './bounded-archive.js';
import { HistoryObserver } from './history-observer.js';
import { databaseOn } from './postgres/database.js';
import { PostgresArchiveReader } from './postgres/postgres-archive-reader.js';

/**
 * Where settlements are looked up that have left the ledger, in every process that uses the ledger. It is global because
 * the ledger knows no history.
 */
@Global()
@Module({})
export class ArchiveModule {
  static forRoot({ history }: AppConfig): DynamicModule {
    if (history === undefined) {
      const none = { provide: SETTLEMENT_ARCHIVE, useValue: NO_ARCHIVE };
      return { module: ArchiveModule, providers: [none], exports: [SETTLEMENT_ARCHIVE] };
    }
    return {
      module: ArchiveModule,
      imports: [DatabaseModule],
      providers: [
        {
          provide: BoundedArchive,
          inject: [DatabasePools, HistoryObserver, Clock],
          useFactory: (pools: DatabasePools, observer: HistoryObserver, clock: Clock) =>
            new BoundedArchive({
              reader: new PostgresArchiveReader(databaseOn(pools.of('lookUps'))),
              observer,
              clock,
            }),
        },
        { provide: SETTLEMENT_ARCHIVE, useExisting: BoundedArchive },
      ],
      exports: [SETTLEMENT_ARCHIVE, BoundedArchive],
    };
  }
}
