import { PinoLogger } from 'nestjs-pino';
import { HistoryTables } from '../../history/history-tables.js';
import type { Database } from '../../history/postgres/database.js';
import { systemClock } from '../../platform/concurrency/clock.js';
import { AppConfig } from '../../platform/config/app-config.js';
import { provide } from '../../platform/nest/provide.js';
import type { DeclarationNotes } from '../../settlement/ledger/declaration-notes.js';
import { DECLARATION_NOTES } from '../../settlement/ledger/ledger.module.js';
import { CatalogueFigures } from '../operators/catalogue-figures.js';
import { countCatalogue } from '../postgres/count-catalogue.js';
import { PostgresCalls } from '../postgres/postgres-calls.js';
import { PostgresCatalogue } from '../postgres/postgres-catalogue.js';
import { qualityLog } from '../quality/quality-log.js';
import { Rater } from '../quality/rater.js';
import { catalogueLog } from './catalogue-log.js';
import { Learner } from './learner.js';

export const DATABASES = Symbol('DISCOVERY_DATABASES');

/** Neither is there without a catalogue; each only where it is used. */
export interface Databases {
  readonly reading: Database | undefined;
  readonly writing: Database | undefined;
}

/** Whether a process of these settings writes the catalogue. */
export function learnsListings(config: AppConfig): boolean {
  return config.hasRole('history') && config.history?.catalogue !== undefined;
}

interface LearnerModuleParts {
  readonly config: AppConfig;
  readonly notes: DeclarationNotes;
  readonly databases: Databases;
  readonly tables: HistoryTables;
  readonly logger: PinoLogger;
}

const LEARNER = provide(
  Learner,
  {
    config: AppConfig,
    notes: DECLARATION_NOTES,
    databases: DATABASES,
    tables: HistoryTables,
    logger: PinoLogger,
  },
  startedLearner,
);

interface RaterModuleParts {
  readonly databases: Databases;
  readonly tables: HistoryTables;
  readonly logger: PinoLogger;
}

const RATER = provide(
  Rater,
  { databases: DATABASES, tables: HistoryTables, logger: PinoLogger },
  ({ databases, tables, logger }: RaterModuleParts) => {
    const { writing } = databases;
    if (writing === undefined) throw new Error('there is no database for a catalogue');
    const rater = new Rater({
      calls: new PostgresCalls(writing.db),
      clock: systemClock,
      observer: qualityLog(logger),
    });
    tables.whenThere(() => {
      rater.start();
    });
    return rater;
  },
);

interface FiguresParts {
  readonly config: AppConfig;
  readonly databases: Databases;
  readonly learner: Learner;
}

const FIGURES = provide(
  CatalogueFigures,
  { config: AppConfig, databases: DATABASES, learner: Learner },
  ({ config, databases, learner }: FiguresParts) => {
    const { writing } = databases;
    if (writing === undefined) throw new Error('there is no database for a catalogue');
    return new CatalogueFigures({
      count: (since) => countCatalogue(writing.db, since),
      expiryMs: config.history?.catalogue?.expiryMs ?? 0,
      learner,
      clock: systemClock,
    });
  },
);

/** What writes the catalogue, in processes with the role history. */
export const LEARNING = [LEARNER, RATER, FIGURES];

function startedLearner({ config, notes, databases, tables, logger }: LearnerModuleParts): Learner {
  const { history, ledgerChainIds } = config;
  const catalogue = history?.catalogue;
  const { writing } = databases;
  if (catalogue === undefined || writing === undefined) {
    throw new Error('there is no database for a catalogue');
  }
  const learner = new Learner({
    notes,
    chainIds: ledgerChainIds,
    expiryMs: catalogue.expiryMs,
    clock: systemClock,
    catalogue: new PostgresCatalogue(writing.db, catalogue),
    calls: new PostgresCalls(writing.db),
    observer: catalogueLog(logger),
  });
  tables.whenThere(() => {
    learner.start();
  });
  return learner;
}
