import { Inject, Injectable, Module, type Provider } from '@nestjs/common';
import { PinoLogger } from 'nestjs-pino';
import { systemClock } from '../platform/concurrency/clock.js';
import { AppConfig } from '../platform/config/app-config.js';
import { DatabaseModule } from '../platform/database/database.module.js';
import { DatabasePools } from '../platform/database/database-pools.js';
import { LedgerConnections } from '../platform/redis/ledger-connections.js';
import { LedgerModule, OUTBOX } from '../settlement/ledger/ledger.module.js';
import type { Outbox } from '../settlement/ledger/outbox.js';
import { ProcessRegistry } from '../settlement/ledger/process-registry.js';
import { ProcessesModule } from '../settlement/ledger/processes.module.js';
import { knownLanes } from '../settlement/ledger/queries/known-lanes.js';
import { knownRefills } from '../settlement/ledger/queries/known-refills.js';
import { HistoryTables } from './history-tables.js';
import { HistoryTablesModule } from './history-tables.module.js';
import { databaseOn } from './postgres/database.js';
import { PostgresSettlementHistory } from './postgres/postgres-settlement-history.js';
import { DailyReconciliation } from './reconciliation/daily-reconciliation.js';
import { reconcileNetwork } from './reconciliation/reconcile-network.js';
import { ReconciliationHealth } from './reconciliation/reconciliation-health.js';

@Injectable()
class DailyParts {
  constructor(
    readonly config: AppConfig,
    readonly pools: DatabasePools,
    readonly ledger: LedgerConnections,
    @Inject(OUTBOX) readonly outbox: Outbox,
    readonly processes: ProcessRegistry,
    readonly tables: HistoryTables,
    readonly logger: PinoLogger,
  ) {}
}

const DAILY: Provider = {
  provide: DailyReconciliation,
  inject: [DailyParts],
  useFactory: startedDaily,
};

/** The daily reconciliation, in processes with the role history where a time is set for it. */
@Module({
  imports: [DatabaseModule, LedgerModule, ProcessesModule, HistoryTablesModule],
  providers: [DailyParts, DAILY, ReconciliationHealth],
  exports: [ReconciliationHealth],
})
export class ReconciliationModule {}

function startedDaily({
  config,
  pools,
  ledger,
  outbox,
  processes,
  tables,
  logger,
}: DailyParts): DailyReconciliation {
  const { history, networks } = config;
  if (history?.reconcilesAt === undefined)
    throw new Error('reconciliation is off: it has no time of day');
  const books = new PostgresSettlementHistory(databaseOn(pools.of('background')).db);
  const daily = new DailyReconciliation({
    networks,
    reconcilesAt: history.reconcilesAt,
    runs: books,
    clock: systemClock,
    processId: processes.processId,
    reconcile: async (network, task, signal) => {
      const { chainId } = network;
      const ledgerLanes = await knownLanes(ledger, chainId);
      const refills = await knownRefills(ledger, chainId, ledgerLanes);
      const archiveLagMs = async () => (await outbox.backlog(chainId)).oldestMs;
      const ledgerFacts = { ledgerLanes, refills, archiveLagMs };
      const parts = { network, books, ...ledgerFacts, signal, clock: systemClock };
      return reconcileNetwork(parts, task);
    },
    archiveLagMs: async (chainId) => (await outbox.backlog(chainId)).oldestMs,
    logger,
  });
  tables.whenThere(() => {
    daily.start();
  });
  return daily;
}
