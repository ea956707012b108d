import { Module } from '@nestjs/common';
import { HistoryTables } from './history-tables.js';
import { HistoryDatabase } from './postgres/database.module.js';
import { PostgresTables } from './postgres/postgres-tables.js';
import { TablesLog } from './tables-log.js';

/** Imported only with `DATABASE_URL`. */
@Module({
  imports: [HistoryDatabase.on('background')],
  providers: [PostgresTables, TablesLog, HistoryTables],
  exports: [HistoryTables],
})
export class HistoryTablesModule {}
