import { Global, Module } from '@nestjs/common';
import { PinoLogger } from 'nestjs-pino';
import { AppConfig } from '../platform/config/app-config.js';
import { DatabasePools } from '../platform/database/database-pools.js';
import { provide } from '../platform/nest/provide.js';
import { AuditTrail } from '../settlement/ledger/audit-trail.js';
import { AuditArchiver } from './audit-archiver.js';
import { HistoryTables } from './history-tables.js';
import { databaseOn } from './postgres/database.js';
import { PostgresAudit } from './postgres/postgres-audit.js';

interface AuditParts {
  readonly config: AppConfig;
  readonly pools: DatabasePools;
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
      {
        config: AppConfig,
        pools: DatabasePools,
        trail: AuditTrail,
        tables: HistoryTables,
        logger: PinoLogger,
      },
      startedAudit,
    ),
  ],
  exports: [AuditArchiver],
})
export class AuditModule {}

function startedAudit({ config, pools, trail, tables, logger }: AuditParts): AuditArchiver {
  const audit = new AuditArchiver({
    trail,
    table: new PostgresAudit(databaseOn(pools.of('archive')).db),
    chainIds: config.ledgerChainIds,
    failed: (error) => {
      logger.error(
        { err: error },
        'cannot archive the audit log in PostgreSQL; its entries stay in Redis',
      );
    },
  });
  tables.whenThere(() => {
    audit.start();
  });
  return audit;
}
