import { type DynamicModule, Global, Module } from '@nestjs/common';
import { PinoLogger } from 'nestjs-pino';
import { databaseOn } from '../history/postgres/database.js';
import { ChainRegistry } from '../platform/chain/chain-registry.js';
import { systemClock } from '../platform/concurrency/clock.js';
import { AppConfig } from '../platform/config/app-config.js';
import { listingRulesOf } from '../platform/config/listing-rules.js';
import { loadSignerRecovery } from '../platform/crypto/recover-signer.js';
import { DatabasePools } from '../platform/database/database-pools.js';
import { provide } from '../platform/nest/provide.js';
import type { ListingRules } from '../protocol/listing/judge-terms.js';
import type { DeclarationNotes } from '../settlement/ledger/declaration-notes.js';
import { DECLARATION_NOTES } from '../settlement/ledger/ledger.module.js';
import { SETTLE_EXTENSION } from '../settlement/settle-extension.js';
import {
  DiscoveryRootController,
  DiscoveryV1Controller,
  DiscoveryV2Controller,
  LISTING_RULES,
} from './asking/discovery.controller.js';
import { Discovery } from './asking/discovery.js';
import { DiscoveryPageController } from './discovery-page.controller.js';
import { DeclaredListings } from './learning/declared-listings.js';
import { KnownRefusals } from './learning/known-refusals.js';
import { Learner } from './learning/learner.js';
import { DATABASES, type Databases, LEARNING, learnsListings } from './learning/learning.module.js';
import { CatalogueFigures } from './operators/catalogue-figures.js';
import { signedBy } from './owned/signed-by.js';
import { Statements } from './owned/statements.js';
import { PostgresCatalogueReader } from './postgres/postgres-catalogue-reader.js';
import { standingRefusals } from './postgres/postgres-refusals.js';
import { PostgresStatements } from './postgres/postgres-statements.js';
import { Rater } from './quality/rater.js';

interface NoteParts {
  readonly config: AppConfig;
  readonly notes: DeclarationNotes;
  readonly rules: ListingRules;
  readonly databases: Databases;
  readonly logger: PinoLogger;
}

const RULES = provide(
  LISTING_RULES,
  { config: AppConfig },
  ({ config }: { readonly config: AppConfig }): ListingRules => listingRulesOf(config),
);

const DISCOVERY = provide(
  Discovery,
  { config: AppConfig, databases: DATABASES },
  ({ config, databases }: { readonly config: AppConfig; readonly databases: Databases }) =>
    new Discovery({
      reader: databases.reading && new PostgresCatalogueReader(databases.reading.db),
      allow: config.history?.catalogue?.allow ?? new Set(),
      expiryMs: config.history?.catalogue?.expiryMs ?? 0,
      now: () => systemClock.now(),
    }),
);

interface StatementParts {
  readonly config: AppConfig;
  readonly databases: Databases;
  readonly chains: ChainRegistry;
}

const STATEMENTS = provide(
  Statements,
  { config: AppConfig, databases: DATABASES, chains: ChainRegistry },
  ({ config, databases, chains }: StatementParts) =>
    new Statements({
      store: databases.reading && new PostgresStatements(databases.reading.db),
      catalogueUrl: config.history?.catalogue?.url,
      isSignedBy: signedBy(chains, loadSignerRecovery().recoverSigner),
      now: () => systemClock.now(),
    }),
);

const DECLARED = provide(
  SETTLE_EXTENSION,
  {
    config: AppConfig,
    notes: DECLARATION_NOTES,
    rules: LISTING_RULES,
    databases: DATABASES,
    logger: PinoLogger,
  },
  ({ config, notes, rules, databases: { reading }, logger }: NoteParts) =>
    new DeclaredListings({
      ...rules,
      notes: config.history?.catalogue === undefined ? undefined : notes,
      refusals:
        reading &&
        new KnownRefusals({
          read: () => standingRefusals(reading.db),
          clock: systemClock,
          onTrouble: (error) => {
            logger.debug({ err: error }, 'it is not known now what no payment lists');
          },
        }),
      onTrouble: (error) => {
        logger.warn({ err: error }, 'a declaration could not be noted');
      },
    }),
);

/** The catalogue: it learns in processes with the role history, and is asked at those with the role api. */
@Global()
@Module({})
export class DiscoveryModule {
  static forRoot(config: AppConfig): DynamicModule {
    const isApi = config.hasRole('api');
    const learns = learnsListings(config);
    const hasCatalogue = config.history?.catalogue !== undefined;
    return {
      module: DiscoveryModule,
      controllers: isApi
        ? [
            DiscoveryPageController,
            DiscoveryRootController,
            DiscoveryV1Controller,
            DiscoveryV2Controller,
          ]
        : [],
      providers: [
        {
          provide: DATABASES,
          inject: [DatabasePools],
          useFactory: (pools: DatabasePools): Databases => ({
            reading: isApi && hasCatalogue ? databaseOn(pools.of('catalogue')) : undefined,
            writing: learns ? databaseOn(pools.of('background')) : undefined,
          }),
        },
        ...(isApi ? [RULES, DISCOVERY, STATEMENTS, DECLARED] : []),
        ...(learns ? LEARNING : []),
      ],
      exports: [
        ...(isApi ? [SETTLE_EXTENSION] : []),
        ...(learns ? [Learner, Rater, CatalogueFigures] : []),
      ],
    };
  }
}
