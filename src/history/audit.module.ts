import { Module } from '@nestjs/common';
import { AUDIT_TABLE, AuditArchiver } from './audit-archiver.js';
import { HistoryDatabase } from './postgres/database.module.js';
import { PostgresAudit } from './postgres/postgres-audit.js';

/** Keeps what operators do, in every process with the role history. */
@Module({
  imports: [HistoryDatabase.on('archive')],
  providers: [{ provide: AUDIT_TABLE, useClass: PostgresAudit }, AuditArchiver],
})
export class AuditModule {}
