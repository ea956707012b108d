import { type DynamicModule, Global, Module } from '@nestjs/common';
import type { AppConfig } from '../platform/config/app-config.js';
import { NO_ARCHIVE, SETTLEMENT_ARCHIVE } from '../settlement/ledger/settlement-archive.js';
import { BoundedArchive } from './bounded-archive.js';
import { HistoryDatabase } from './postgres/database.module.js';
import { PostgresArchiveReader } from './postgres/postgres-archive-reader.js';

/**
 * Look-ups of settlements that have left the ledger, for every process that uses the ledger. The module is global
 * because the ledger does not know the history.
 */
@Global()
@Module({})
export class ArchiveModule {
  static forRoot({ history }: AppConfig): DynamicModule {
    if (history === undefined) {
      const none = { provide: SETTLEMENT_ARCHIVE, useValue: NO_ARCHIVE };
      return { module: ArchiveModule, providers: [none], exports: [none] };
    }
    return {
      module: ArchiveModule,
      imports: [HistoryDatabase.on('lookUps')],
      providers: [
        PostgresArchiveReader,
        BoundedArchive,
        { provide: SETTLEMENT_ARCHIVE, useExisting: BoundedArchive },
      ],
      exports: [BoundedArchive, SETTLEMENT_ARCHIVE],
    };
  }
}
