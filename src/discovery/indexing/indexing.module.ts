import { Module, type OnModuleInit } from '@nestjs/common';
import { HistoryTables } from '../../history/history-tables.js';
import { HistoryTablesModule } from '../../history/history-tables.module.js';
import { HistoryDatabase, tablesOf } from '../../history/postgres/database.module.js';
import type { AppConfig } from '../../platform/config/app-config.js';
import { LedgerModule } from '../../settlement/ledger/ledger.module.js';
import { CatalogueSettings } from '../catalogue-settings.js';
import { CatalogueFigures } from '../operators/catalogue-figures.js';
import { CatalogueDatabase } from '../postgres/catalogue-database.js';
import { PostgresCalls } from '../postgres/postgres-calls.js';
import { PostgresCatalogue } from '../postgres/postgres-catalogue.js';
import { PostgresCounts } from '../postgres/postgres-counts.js';
import { QualityScorer } from '../quality/quality-scorer.js';
import { CatalogueIndexer } from './catalogue-indexer.js';

/** Whether a process with these settings writes the catalogue. */
export function indexesListings(config: AppConfig): boolean {
  return config.hasRole('history') && config.history?.catalogue !== undefined;
}

/** Writes the catalogue, in processes that have one and the role history. */
@Module({
  imports: [LedgerModule, HistoryTablesModule, HistoryDatabase.on('background')],
  providers: [
    { provide: CatalogueDatabase, useExisting: tablesOf('background') },
    CatalogueSettings,
    PostgresCatalogue,
    PostgresCalls,
    PostgresCounts,
    CatalogueIndexer,
    QualityScorer,
    CatalogueFigures,
  ],
  exports: [CatalogueFigures],
})
export class IndexingModule implements OnModuleInit {
  constructor(
    private readonly tables: HistoryTables,
    private readonly indexer: CatalogueIndexer,
    private readonly rater: QualityScorer,
  ) {}

  onModuleInit(): void {
    this.tables.whenThere(() => {
      this.indexer.start();
      this.rater.start();
    });
  }
}
