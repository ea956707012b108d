import { type DynamicModule, Module } from '@nestjs/common';
import type { AppConfig } from '../platform/config/app-config.js';
import { LedgerModule } from '../settlement/ledger/ledger.module.js';
import { ArchiverModule } from './archiver.module.js';
import { HistoryHealth, NoHistory } from './history-health.js';
import { HistoryTablesModule } from './history-tables.module.js';

/**
 * The line of the history in `/health`, in every process that uses the ledger; and the archiver, in processes with
 * the role history.
 */
@Module({})
export class HistoryModule {
  static forRoot(config: AppConfig): DynamicModule {
    if (config.history === undefined) return { module: HistoryModule, providers: [NoHistory] };
    const archives = config.hasRole('history');
    return {
      module: HistoryModule,
      imports: [
        LedgerModule,
        HistoryTablesModule,
        ...(archives ? [ArchiverModule.forRoot(config)] : []),
      ],
      providers: [HistoryHealth],
      exports: [HistoryHealth],
    };
  }
}
