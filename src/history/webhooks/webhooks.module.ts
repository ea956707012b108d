import {
  type DynamicModule,
  Global,
  Inject,
  Module,
  type OnModuleDestroy,
  Optional,
} from '@nestjs/common';
import type { Kysely } from 'kysely';
import { PinoLogger } from 'nestjs-pino';
import { AppConfig } from '../../platform/config/app-config.js';
import { DatabasePools } from '../../platform/database/database-pools.js';
import { SafeFetch } from '../../platform/fetch/safe-fetch.js';
import { PayeeAccess } from '../../platform/http/payee-access.js';
import { provide } from '../../platform/nest/provide.js';
import { fanOut } from '../../platform/observability/fan-out.js';
import { RateLimiter } from '../../platform/rate-limit/rate-limiter.js';
import { DEPLOYMENT_TAG } from '../../platform/redis/hash-slot.js';
import type { SharedRedis } from '../../platform/redis/ledger-connections.js';
import { LEDGER_REDIS } from '../../platform/redis/redis.module.js';
import { connectReader, queuePrefix } from '../../platform/redis/redis-connection.js';
import { LANE_QUERIES } from '../../settlement/ledger/ledger.module.js';
import { ProcessRegistry } from '../../settlement/ledger/process-registry.js';
import type { LaneQueries } from '../../settlement/ledger/queries/lane-queries.js';
import { HistoryTables } from '../history-tables.js';
import { databaseOn } from '../postgres/database.js';
import type { Tables } from '../postgres/tables.js';
import { Deliverer } from './deliverer.js';
import { LaneWatch } from './lane-watch.js';
import { PostgresDeliveries } from './postgres-deliveries.js';
import { PostgresLaneLevels } from './postgres-lane-levels.js';
import { PostgresWebhooks } from './postgres-webhooks.js';
import { WebhookSecrets } from './signature.js';
import { WebhookHealth } from './webhook-health.js';
import { WebhookJobs } from './webhook-jobs.js';
import { WebhookLimits } from './webhook-limits.js';
import { laneWatchLog, webhookLog } from './webhook-log.js';
import { WebhookObserver } from './webhook-observer.js';
import { WebhooksV2Controller } from './webhooks.v2.controller.js';

const DATABASE = Symbol('WEBHOOK_DATABASE');
const FETCHER = Symbol('WEBHOOK_FETCHER');
/** Read of an answer. */
const ANSWER_MAX_BYTES = 4096;
const now = (): number => Date.now();

const DATABASE_PROVIDER = {
  provide: DATABASE,
  inject: [DatabasePools],
  useFactory: (pools: DatabasePools): Kysely<Tables> => databaseOn(pools.of('background')).db,
};

const SECRETS = {
  provide: WebhookSecrets,
  inject: [AppConfig],
  useFactory: ({ webhooks }: AppConfig): WebhookSecrets => {
    if (webhooks === undefined) throw new Error('there is no key for webhooks');
    return new WebhookSecrets(webhooks.key);
  },
};

const STORE = {
  provide: PostgresWebhooks,
  inject: [DATABASE],
  useFactory: (db: Kysely<Tables>) => new PostgresWebhooks(db, now),
};

const LIMITS = {
  provide: WebhookLimits,
  inject: [LEDGER_REDIS],
  useFactory: (redis: SharedRedis) => new WebhookLimits(new RateLimiter(redis, 'webhooks')),
};

const HEALTH = {
  provide: WebhookHealth,
  inject: [DATABASE],
  useFactory: (db: Kysely<Tables>) => new WebhookHealth(db),
};

const FETCH = {
  provide: FETCHER,
  inject: [AppConfig],
  useFactory: ({ webhooks }: AppConfig) =>
    new SafeFetch({
      userAgent: 'x402-webhooks',
      maxBytes: ANSWER_MAX_BYTES,
      allow: webhooks?.allow ?? new Set(),
    }),
};

const JOBS = provide(
  WebhookJobs,
  {
    config: AppConfig,
    db: DATABASE,
    fetcher: FETCHER,
    secrets: WebhookSecrets,
    payees: PayeeAccess,
    processes: ProcessRegistry,
    tables: HistoryTables,
    observer: WebhookObserver,
    logger: PinoLogger,
  },
  startedJobs,
);

interface JobParts {
  readonly config: AppConfig;
  readonly db: Kysely<Tables>;
  readonly fetcher: SafeFetch;
  readonly secrets: WebhookSecrets;
  readonly payees: PayeeAccess;
  readonly processes: ProcessRegistry;
  readonly tables: HistoryTables;
  readonly observer: WebhookObserver;
  readonly logger: PinoLogger;
}

const LANE_WATCH = provide(
  LaneWatch,
  {
    config: AppConfig,
    db: DATABASE,
    lanes: LANE_QUERIES,
    tables: HistoryTables,
    logger: PinoLogger,
  },
  startedLaneWatch,
);

interface LaneWatchParts {
  readonly config: AppConfig;
  readonly db: Kysely<Tables>;
  readonly lanes: LaneQueries;
  readonly tables: HistoryTables;
  readonly logger: PinoLogger;
}

/** Imported only where they are on: endpoints are made at the api, and told by the history. */
@Global()
@Module({})
export class WebhooksModule implements OnModuleDestroy {
  static forRoot(config: AppConfig): DynamicModule {
    const isApi = config.hasRole('api');
    const delivers = config.hasRole('history');
    return {
      module: WebhooksModule,
      controllers: isApi ? [WebhooksV2Controller] : [],
      providers: [
        DATABASE_PROVIDER,
        SECRETS,
        ...(isApi ? [STORE, LIMITS] : []),
        ...(delivers ? [FETCH, JOBS, HEALTH, LANE_WATCH] : []),
      ],
      exports: delivers ? [WebhookHealth] : [],
    };
  }

  constructor(
    @Optional() private readonly jobs?: WebhookJobs,
    @Optional() @Inject(FETCHER) private readonly fetcher?: SafeFetch,
    @Optional() private readonly laneWatch?: LaneWatch,
  ) {}

  /** Deliveries that are under way are finished; the others wait for another process. */
  async onModuleDestroy(): Promise<void> {
    await this.laneWatch?.stop();
    await this.jobs?.stop();
    await this.fetcher?.close();
  }
}

function startedJobs(parts: JobParts): WebhookJobs {
  const { config, db, fetcher, secrets, payees, processes, tables, logger } = parts;
  const observer = fanOut([webhookLog(logger), parts.observer], (method, error) => {
    logger.error({ method, err: error }, 'a webhook event handler failed');
  });
  const store = new PostgresDeliveries(db, now);
  const deliverer = new Deliverer({
    store,
    secrets,
    payees,
    fetcher,
    observer,
    now,
    holder: processes.processId,
    random: () => Math.random(),
  });
  const jobs = new WebhookJobs({
    deliverer,
    store,
    observer,
    // BullMQ waits for jobs on its own connections, for as long as it takes.
    ...queuePrefix(config.redis.queue, DEPLOYMENT_TAG),
    connect: () => connectReader(config.redis.queue, DEPLOYMENT_TAG),
  });
  tables.whenThere(() => {
    jobs.start();
  });
  return jobs;
}

function startedLaneWatch({ config, db, lanes, tables, logger }: LaneWatchParts): LaneWatch {
  const watch = new LaneWatch({
    lanes,
    levels: new PostgresLaneLevels(db),
    now,
    mark: config.webhooks?.laneLowSettlements ?? 0,
    observer: laneWatchLog(logger),
  });
  tables.whenThere(() => {
    watch.start();
  });
  return watch;
}
