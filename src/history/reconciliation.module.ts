import { Module } from '@nestjs/common';
import { LedgerModule } from '../settlement/ledger/ledger.module.js';
import { ProcessesModule } from '../settlement/ledger/processes.module.js';
import { HistoryTablesModule } from './history-tables.module.js';
import { HistoryDatabase } from './postgres/database.module.js';
import { PostgresSettlementHistory } from './postgres/postgres-settlement-history.js';
import {
  DailyReconciliation,
  DailyRuns,
  NetworkReconciliation,
} from './reconciliation/daily-reconciliation.js';
import { LedgerReconciliation } from './reconciliation/ledger-reconciliation.js';
import { ReconciliationHealth } from './reconciliation/reconciliation-health.js';

/** The daily reconciliation, in processes with the role history where a time is set for it. */
@Module({
  imports: [LedgerModule, ProcessesModule, HistoryTablesModule, HistoryDatabase.on('background')],
  providers: [
    PostgresSettlementHistory,
    { provide: DailyRuns, useExisting: PostgresSettlementHistory },
    { provide: NetworkReconciliation, useClass: LedgerReconciliation },
    DailyReconciliation,
    ReconciliationHealth,
  ],
  exports: [ReconciliationHealth],
})
export class ReconciliationModule {}
