import { type DynamicModule, Module } from '@nestjs/common';
import type { AppConfig } from '../platform/config/app-config.js';
import { logged } from '../platform/observability/logged.js';
import { LedgerModule } from '../settlement/ledger/ledger.module.js';
import { ProcessesModule } from '../settlement/ledger/processes.module.js';
import { Archiver } from './archiver.js';
import { Evictor } from './evictor.js';
import { historyLog } from './history-log.js';
import { HistoryObserver, LOGGED_HISTORY } from './history-observer.js';
import { HistoryTablesModule } from './history-tables.module.js';
import { ChangeFollower } from './postgres/change-follower.js';
import { HistoryDatabase } from './postgres/database.module.js';
import { PostgresArchive } from './postgres/postgres-archive.js';
import { PostgresArchiveReader } from './postgres/postgres-archive-reader.js';
import { EventWriter } from './webhooks/event-writer.js';

/** Copies settlements from the ledger to the archive, in processes with the role history. */
@Module({})
export class ArchiverModule {
  static forRoot({ history, webhooks }: AppConfig): DynamicModule {
    return {
      module: ArchiverModule,
      imports: [LedgerModule, ProcessesModule, HistoryTablesModule, HistoryDatabase.on('archive')],
      providers: [
        logged(LOGGED_HISTORY, HistoryObserver, (logger) =>
          historyLog(logger, history?.databaseUrl),
        ),
        ...(webhooks === undefined ? [] : [{ provide: ChangeFollower, useClass: EventWriter }]),
        PostgresArchive,
        PostgresArchiveReader,
        Evictor,
        Archiver,
      ],
      exports: [Archiver],
    };
  }
}
