import {
  type DynamicModule,
  Global,
  Inject,
  Injectable,
  Module,
  type OnModuleDestroy,
  Optional,
  type Provider,
} from '@nestjs/common';
import { PinoLogger } from 'nestjs-pino';
import { systemClock } from '../platform/concurrency/clock.js';
import { AppConfig } from '../platform/config/app-config.js';
import { DatabasePools } from '../platform/database/database-pools.js';
import { fanOut } from '../platform/observability/fan-out.js';
import type { CooledSettlements } from '../settlement/ledger/cooled-settlements.js';
import { COOLED_SETTLEMENTS, OUTBOX } from '../settlement/ledger/ledger.module.js';
import type { Outbox } from '../settlement/ledger/outbox.js';
import { ProcessRegistry } from '../settlement/ledger/process-registry.js';
import { NO_ARCHIVE, SETTLEMENT_ARCHIVE } from '../settlement/ledger/settlement-archive.js';
import { Archiver } from './archiver.js';
import { BoundedArchive } from './bounded-archive.js';
import { Evictor } from './evictor.js';
import { HistoryHealth, NoHistory } from './history-health.js';
import { historyLog } from './history-log.js';
import { HistoryObserver } from './history-observer.js';
import { HistoryTables } from './history-tables.js';
import { databaseOn } from './postgres/database.js';
import { tablesState } from './postgres/migrator.js';
import { PostgresArchive } from './postgres/postgres-archive.js';
import { PostgresArchiveReader } from './postgres/postgres-archive-reader.js';
import { tablesLog } from './tables-log.js';
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

/** Of every process that uses the ledger: what has left it is looked up there. */
const ARCHIVE: Provider = {
  provide: BoundedArchive,
  inject: [DatabasePools, HistoryObserver],
  useFactory: (pools: DatabasePools, observer: HistoryObserver) =>
    new BoundedArchive({
      reader: new PostgresArchiveReader(databaseOn(pools.of('lookUps'))),
      observer,
      clock: systemClock,
    }),
};

const TABLES: Provider = {
  provide: HistoryTables,
  inject: [AppConfig, DatabasePools, PinoLogger],
  useFactory: (config: AppConfig, pools: DatabasePools, logger: PinoLogger) => {
    const makesThem = config.hasRole('history') && config.history?.migrates === true;
    const tables = new HistoryTables({
      look: () => tablesState(pools.of('background')),
      settles: config.hasRole('api') || config.hasRole('worker'),
      observer: makesThem ? undefined : tablesLog(logger, config.history?.databaseUrl),
    });
    tables.start();
    return tables;
  },
};

/** The history of every process that uses the ledger: what is noted is shown, and archived by those with the role. */
@Global()
@Module({})
export class HistoryModule implements OnModuleDestroy {
  static forRoot(config: AppConfig): DynamicModule {
    const isOn = config.history !== undefined;
    return {
      module: HistoryModule,
      providers: [
        isOn
          ? { provide: SETTLEMENT_ARCHIVE, useExisting: BoundedArchive }
          : { provide: SETTLEMENT_ARCHIVE, useValue: NO_ARCHIVE },
        ...(isOn ? [ARCHIVE, HistoryHealth, TABLES] : [NoHistory]),
        ...(config.hasRole('history') ? [ArchiverParts, ARCHIVER] : []),
      ],
      exports: [
        SETTLEMENT_ARCHIVE,
        ...(isOn ? [HistoryHealth, HistoryTables] : []),
        ...(config.hasRole('history') ? [Archiver] : []),
      ],
    };
  }

  constructor(@Optional() private readonly tables?: HistoryTables) {}

  async onModuleDestroy(): Promise<void> {
    await this.tables?.stop();
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
