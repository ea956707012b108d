import { Global, Module } from '@nestjs/common';
import { PinoLogger } from 'nestjs-pino';
import { AppConfig } from '../platform/config/app-config.js';
import { provide } from '../platform/nest/provide.js';
import type { AuditTrail } from '../settlement/ledger/audit-trail.js';
import { AUDIT_TRAIL } from '../settlement/ledger/ledger.module.js';
import { AuditArchiver } from './audit-archiver.js';
import { HistoryTables } from './history-tables.js';
import { connectDatabase } from './postgres/database.js';
import { PostgresAudit } from './postgres/postgres-audit.js';

interface AuditParts {
  readonly config: AppConfig;
  readonly trail: AuditTrail;
  readonly tables: HistoryTables;
  readonly logger: PinoLogger;
}

/** Keeps what operators do, in every process with the role history. */
@Global()
@Module({
  providers: [
    provide(
      AuditArchiver,
      { config: AppConfig, trail: AUDIT_TRAIL, tables: HistoryTables, logger: PinoLogger },
      startedAudit,
    ),
  ],
  exports: [AuditArchiver],
})
export class AuditModule {}

function startedAudit({ config, trail, tables, logger }: AuditParts): AuditArchiver {
  if (config.history === undefined) throw new Error('there is no database to archive into');
  const { db } = connectDatabase(config.history.databaseUrl);
  const audit = new AuditArchiver({
    trail,
    table: new PostgresAudit(db),
    chainIds: config.ledgerChainIds,
    failed: (error) => {
      logger.error({ err: error }, 'what operators do is not archived now; it waits in Redis');
    },
    close: () => db.destroy(),
  });
  tables.whenThere(() => {
    audit.start();
  });
  return audit;
}
