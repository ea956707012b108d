import { type DynamicModule, Module, type Provider } from '@nestjs/common';
import { HistoryDatabase, tablesOf } from '../history/postgres/database.module.js';
import { ChainModule } from '../platform/chain/chain.module.js';
import type { AppConfig } from '../platform/config/app-config.js';
import { LedgerModule } from '../settlement/ledger/ledger.module.js';
import { SETTLE_EXTENSION } from '../settlement/settle-extension.js';
import {
  DiscoveryRootController,
  DiscoveryV1Controller,
  DiscoveryV2Controller,
} from './asking/discovery.controller.js';
import { Discovery } from './asking/discovery.js';
import { CatalogueReader } from './catalogue.js';
import { CatalogueSettings } from './catalogue-settings.js';
import { DiscoveryPageController } from './discovery-page.controller.js';
import { DeclaredListings } from './indexing/declared-listings.js';
import { KnownRefusals } from './indexing/known-refusals.js';
import { PayeeSignatures } from './owned/payee-signatures.js';
import { Statements, StatementStore } from './owned/statements.js';
import { CatalogueDatabase } from './postgres/catalogue-database.js';
import { PostgresCatalogueReader } from './postgres/postgres-catalogue-reader.js';
import { PostgresRefusals } from './postgres/postgres-refusals.js';
import { PostgresStatements } from './postgres/postgres-statements.js';

/** The providers of a deployment with a catalogue. */
const CATALOGUE: readonly Provider[] = [
  { provide: CatalogueDatabase, useExisting: tablesOf('catalogue') },
  { provide: CatalogueReader, useClass: PostgresCatalogueReader },
  { provide: StatementStore, useClass: PostgresStatements },
  PostgresRefusals,
  KnownRefusals,
];

/** The catalogue's queries, in processes with the role api; the `IndexingModule` writes the catalogue. */
@Module({})
export class DiscoveryModule {
  static forRoot({ history }: AppConfig): DynamicModule {
    return {
      module: DiscoveryModule,
      imports: [
        LedgerModule,
        ChainModule,
        ...(history?.catalogue === undefined ? [] : [HistoryDatabase.on('catalogue')]),
      ],
      controllers: [
        DiscoveryPageController,
        DiscoveryRootController,
        DiscoveryV1Controller,
        DiscoveryV2Controller,
      ],
      providers: [
        CatalogueSettings,
        Discovery,
        PayeeSignatures,
        Statements,
        { provide: SETTLE_EXTENSION, useClass: DeclaredListings },
        ...(history?.catalogue === undefined ? [] : CATALOGUE),
      ],
      exports: [SETTLE_EXTENSION],
    };
  }
}
