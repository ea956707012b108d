import { Inject, Module, type OnModuleDestroy } from '@nestjs/common';
import { PinoLogger } from 'nestjs-pino';
import {
  connectDatabase,
  type ConnectionUse,
  type Database,
} from '../../history/postgres/database.js';
import { systemClock } from '../../platform/concurrency/clock.js';
import { AppConfig } from '../../platform/config/app-config.js';
import { SafeFetch } from '../../platform/fetch/safe-fetch.js';
import { provide } from '../../platform/nest/provide.js';
import { fanOut } from '../../platform/observability/fan-out.js';
import { PostgresProbes } from '../postgres/postgres-probes.js';
import { Prober, PRODUCT } from './prober.js';
import { proberLog } from './prober-log.js';
import { ProberObserver } from './prober-observer.js';
import { ROBOTS_MAX_BYTES } from './robots.js';

const DATABASE = Symbol('PROBER_DATABASE');
/** Its own, so that nobody who learns or rates waits for sellers. */
const PROBING: ConnectionUse = {
  name: 'x402-catalogue-prober',
  most: 2,
  connectMs: 3000,
  statementMs: 10_000,
};
/** Of all headers of an answer: terms stand in one, and some are longer than a client takes. */
const HEADERS_MAX_BYTES = 65_536;

interface ProberModuleParts {
  readonly config: AppConfig;
  readonly database: Database;
  readonly counted: ProberObserver;
  readonly logger: PinoLogger;
}

function startedProber({ config, database, counted, logger }: ProberModuleParts): Prober {
  const { url, allow } = config.history?.catalogue ?? { url: undefined, allow: new Set<string>() };
  const site = url === undefined ? '' : ` (+${new URL(url).href})`;
  const prober = new Prober({
    book: new PostgresProbes(database.db),
    clock: systemClock,
    fetcher: new SafeFetch({
      userAgent: `${PRODUCT}/1.0${site}`,
      allow,
      maxBytes: ROBOTS_MAX_BYTES,
      maxHeaderBytes: HEADERS_MAX_BYTES,
    }),
    observer: fanOut([proberLog(logger), counted], (method, error) => {
      logger.error({ method, err: error }, 'an observer of probes failed');
    }),
  });
  prober.start();
  return prober;
}

/** Only there where it is turned on: see `probesListings`. */
@Module({
  providers: [
    {
      provide: DATABASE,
      inject: [AppConfig],
      // Nothing is asked at the start.
      useFactory: ({ history }: AppConfig): Database => {
        if (history === undefined) throw new Error('there is no database for a catalogue');
        return connectDatabase(history.databaseUrl, PROBING);
      },
    },
    provide(
      Prober,
      { config: AppConfig, database: DATABASE, counted: ProberObserver, logger: PinoLogger },
      startedProber,
    ),
  ],
})
export class ProberModule implements OnModuleDestroy {
  constructor(@Inject(DATABASE) private readonly database: Database) {}

  async onModuleDestroy(): Promise<void> {
    await this.database.db.destroy();
  }
}
