import { Inject, Injectable, Module, type Provider } from '@nestjs/common';
import { PinoLogger } from 'nestjs-pino';
import { systemClock } from '../platform/concurrency/clock.js';
import { AppConfig } from '../platform/config/app-config.js';
import { DatabaseModule } from '../platform/database/database.module.js';
import { DatabasePools } from '../platform/database/database-pools.js';
import { LedgerConnections } from '../platform/redis/ledger-connections.js';
import { ChainUnavailableError } from '../protocol/errors.js';
import { LedgerModule, OUTBOX } from '../settlement/ledger/ledger.module.js';
import type { Outbox } from '../settlement/ledger/outbox.js';
import { heldSettlements } from '../settlement/ledger/queries/held-settlements.js';
import { LaneQueries } from '../settlement/ledger/queries/lane-queries.js';
import { HistoryObserver } from './history-observer.js';
import { HistoryTables } from './history-tables.js';
import { HistoryTablesModule } from './history-tables.module.js';
import { LostSettlements } from './lost/lost-settlements.js';
import { openChain } from './lost/open-chain.js';
import { databaseOn } from './postgres/database.js';
import { PostgresArchive } from './postgres/postgres-archive.js';
import { PostgresSettlementHistory } from './postgres/postgres-settlement-history.js';
import { PostgresUnfinished } from './postgres/postgres-unfinished.js';
import { EventWriter } from './webhooks/event-writer.js';

@Injectable()
class LostParts {
  constructor(
    readonly config: AppConfig,
    readonly pools: DatabasePools,
    readonly ledger: LedgerConnections,
    @Inject(OUTBOX) readonly outbox: Outbox,
    readonly laneQueries: LaneQueries,
    readonly tables: HistoryTables,
    @Inject(HistoryObserver) readonly observer: HistoryObserver,
    readonly logger: PinoLogger,
  ) {}
}

const LOST: Provider = { provide: LostSettlements, inject: [LostParts], useFactory: started };

/** Whether a process ends what a lost ledger has left: an archiver that knows chains. */
export function endsLost(config: AppConfig): boolean {
  return config.hasRole('history') && config.networks.length > 0;
}

/** What a lost ledger has left unfinished in the archive. */
@Module({
  imports: [DatabaseModule, LedgerModule, HistoryTablesModule],
  providers: [LostParts, LOST],
})
export class LostModule {}

function started({
  config,
  pools,
  ledger,
  outbox,
  laneQueries,
  tables,
  observer,
  logger,
}: LostParts): LostSettlements {
  const { history, networks, webhooks } = config;
  if (history === undefined) throw new Error('there is no database to look for them in');
  const database = databaseOn(pools.of('background'));
  const now = (): number => systemClock.now();
  const follower =
    webhooks === undefined ? { follow: () => Promise.resolve() } : new EventWriter(now);
  const unfinished = new PostgresUnfinished(database, follower);
  const books = new PostgresSettlementHistory(database.db);
  const archive = new PostgresArchive({
    database,
    migrates: false,
    months: history.months,
    now,
  });
  const lost = new LostSettlements({
    unfinished,
    archive,
    outbox,
    clock: systemClock,
    chainIds: networks.map(({ chainId }) => chainId),
    held: (chainId, ids) => heldSettlements(ledger, chainId, ids),
    open: (chainId) => {
      const network = networks.find((one) => one.chainId === chainId);
      if (network === undefined) throw new ChainUnavailableError(chainId, 'network');
      return openChain(network, {
        ledger,
        laneQueries,
        books,
        unfinished,
        clock: systemClock,
      });
    },
    observer,
    logger,
  });
  tables.whenThere(() => {
    lost.start();
  });
  return lost;
}
