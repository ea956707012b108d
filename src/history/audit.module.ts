import { Module } from '@nestjs/common';
import { LedgerModule } from '../settlement/ledger/ledger.module.js';
import { AuditArchiver } from './audit-archiver.js';
import { HistoryTablesModule } from './history-tables.module.js';
import { HistoryDatabase } from './postgres/database.module.js';
import { PostgresAudit } from './postgres/postgres-audit.js';

/** Archives the actions of operators, in every process with the role history. */
@Module({
  imports: [LedgerModule, HistoryTablesModule, HistoryDatabase.on('archive')],
  providers: [PostgresAudit, AuditArchiver],
})
export class AuditModule {}
