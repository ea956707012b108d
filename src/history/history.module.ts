import { type DynamicModule, Inject, Injectable, Module, type Provider } from '@nestjs/common';
import { PinoLogger } from 'nestjs-pino';
import { systemClock } from '../platform/concurrency/clock.js';
import { AppConfig } from '../platform/config/app-config.js';
import { DatabaseModule } from '../platform/database/database.module.js';
import { DatabasePools } from '../platform/database/database-pools.js';
import { fanOut } from '../platform/observability/fan-out.js';
import type { CooledSettlements } from '../settlement/ledger/cooled-settlements.js';
import { COOLED_SETTLEMENTS, LedgerModule, OUTBOX } from '../settlement/ledger/ledger.module.js';
import type { Outbox } from '../settlement/ledger/outbox.js';
import { ProcessRegistry } from '../settlement/ledger/process-registry.js';
import { ProcessesModule } from '../settlement/ledger/processes.module.js';
import { Archiver } from './archiver.js';
import { Evictor } from './evictor.js';
import { HistoryHealth, NoHistory } from './history-health.js';
import { historyLog } from './history-log.js';
import { HistoryObserver } from './history-observer.js';
import { HistoryTables } from './history-tables.js';
import { HistoryTablesModule } from './history-tables.module.js';
import { databaseOn } from './postgres/database.js';
import { PostgresArchive } from './postgres/postgres-archive.js';
import { PostgresArchiveReader } from './postgres/postgres-archive-reader.js';
import { EventWriter } from './webhooks/event-writer.js';

@Injectable()
class ArchiverParts {
  constructor(
    readonly config: AppConfig,
    readonly pools: DatabasePools,
    @Inject(OUTBOX) readonly outbox: Outbox,
    @Inject(COOLED_SETTLEMENTS) readonly cooled: CooledSettlements,
    readonly processes: ProcessRegistry,
    readonly tables: HistoryTables,
    @Inject(HistoryObserver) readonly observer: HistoryObserver,
    readonly logger: PinoLogger,
  ) {}
}

const ARCHIVER: Provider = {
  provide: Archiver,
  inject: [ArchiverParts],
  useFactory: startedArchiver,
};

/** The history of every process that uses the ledger: what is noted is shown, and archived by those with the role. */
@Module({})
export class HistoryModule {
  static forRoot(config: AppConfig): DynamicModule {
    if (config.history === undefined) return { module: HistoryModule, providers: [NoHistory] };
    return {
      module: HistoryModule,
      imports: [DatabaseModule, LedgerModule, ProcessesModule, HistoryTablesModule],
      providers: [HistoryHealth, ...(config.hasRole('history') ? [ArchiverParts, ARCHIVER] : [])],
      exports: [HistoryHealth],
    };
  }
}

/** The database is waited for beside the start: what settles must not depend on it. */
function startedArchiver(parts: ArchiverParts): Archiver {
  const { config, pools, outbox, cooled, processes, tables, logger } = parts;
  if (config.history === undefined) throw new Error('there is no database to archive into');
  const { migrates, months, hotMs } = config.history;
  const database = databaseOn(pools.of('archive'));
  const observer = fanOut(
    [historyLog(logger, config.history.databaseUrl), parts.observer],
    (method, error) => {
      logger.error({ method, err: error }, 'a history event handler failed');
    },
  );
  const archiver = new Archiver({
    outbox,
    observer,
    clock: systemClock,
    processId: processes.processId,
    archive: new PostgresArchive({
      database,
      migrates,
      months,
      now: () => systemClock.now(),
      ...(config.webhooks !== undefined && { follower: new EventWriter(() => systemClock.now()) }),
    }),
    evictor: new Evictor({ cooled, hotMs, observer, reader: new PostgresArchiveReader(database) }),
    chainIds: config.ledgerChainIds,
  });
  // A process that may not create the tables waits until they exist.
  if (migrates) archiver.start();
  else {
    tables.whenThere(() => {
      archiver.start();
    });
  }
  return archiver;
}
