import 'reflect-metadata';
import { readdirSync, readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { describe, expect, it } from '@jest/globals';
import { APP_GUARD, APP_INTERCEPTOR, APP_PIPE, ModulesContainer, NestFactory } from '@nestjs/core';
import type { PinoLogger } from 'nestjs-pino';
import { AppModule } from './app.module.js';
import { SettlingHealthModule } from './operations/health/settling-health.module.js';
import { AppConfig, ROLES } from './platform/config/app-config.js';
import { Secret } from './platform/config/secret.js';
import { DatabasePools } from './platform/database/database-pools.js';
import { ErrorFilter } from './platform/http/error.filter.js';
import { HttpModule } from './platform/http/http.module.js';
import { JsonBodyInterceptor } from './platform/http/json-body.interceptor.js';
import { OpsGuard } from './platform/http/ops.js';
import { OpsModule } from './platform/http/ops.module.js';
import { RequestPipe } from './platform/http/request.pipe.js';
import { SHUTDOWN_PHASES, type ShutdownPhase } from './platform/lifecycle/at-shutdown.js';
import { FeatureHealth } from './platform/observability/feature-health.js';

/** What holds the parts together, which no part knows: each of these was taken out once, and nothing else failed. */
describe('the wiring of a process', () => {
  const providersOf = (module: object): unknown =>
    Reflect.getMetadata('providers', module) as unknown;

  it('reads and validates what comes to every route, and guards those of operators', () => {
    expect(providersOf(HttpModule)).toEqual(
      expect.arrayContaining([
        { provide: APP_INTERCEPTOR, useClass: JsonBodyInterceptor },
        { provide: APP_PIPE, useClass: RequestPipe },
      ]),
    );
    expect(providersOf(OpsModule)).toContainEqual({ provide: APP_GUARD, useClass: OpsGuard });
  });

  it('has an indicator for all that settling needs', () => {
    const listed = providersOf(SettlingHealthModule) as (new (part: unknown) => unknown)[];
    const indicators = listed
      .filter(({ prototype }) => prototype instanceof FeatureHealth)
      .map((Health) => new Health({}) as FeatureHealth);
    expect(indicators.map(({ name }) => name)).toEqual([
      'networks',
      'lanes',
      'queue',
      'unclaimed',
      'settles',
    ]);
  });

  it('closes each pool of the database that was opened', async () => {
    const databaseUrl = new Secret('postgres://nobody@127.0.0.1:1/nothing');
    const config = Object.assign(Object.create(AppConfig.prototype) as AppConfig, {
      history: { databaseUrl },
    });
    const pools = new DatabasePools(config);
    const opened = [pools.of('lists'), pools.of('background')];
    expect(opened.map(({ ended }) => ended)).toEqual([false, false]);
    await pools.onApplicationShutdown();
    expect(opened.map(({ ended }) => ended)).toEqual([true, true]);
  });

  it('ends in an order that loses nothing', () => {
    const isBefore = (earlier: ShutdownPhase, later: ShutdownPhase): boolean =>
      SHUTDOWN_PHASES.indexOf(earlier) < SHUTDOWN_PHASES.indexOf(later);
    // Load balancers see it while connections are still accepted.
    expect(isBefore('announce', 'doors')).toBe(true);
    // Waiting requests are answered before the end of requests is awaited.
    expect(isBefore('waits', 'requests')).toBe(true);
    expect(isBefore('doors', 'hand-over')).toBe(true);
    // Another process takes the lanes before the running requests are awaited; without one they need those of this.
    expect(isBefore('hand-over', 'requests')).toBe(true);
    expect(isBefore('requests', 'lanes')).toBe(true);
    // What the phases before have changed is archived.
    for (const phase of ['lanes', 'webhooks', 'background'] as const) {
      expect(isBefore(phase, 'archive')).toBe(true);
    }
    expect(SHUTDOWN_PHASES.at(-1)).toBe('process');
  });

  it('ends each part in its phase', () => {
    const src = new URL('./', import.meta.url);
    const steps = readdirSync(src, { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.ts') && !path.endsWith('.spec.ts'))
      .flatMap((path) =>
        [
          ...readFileSync(new URL(path, src), 'utf8').matchAll(/@AtShutdown\('(.+)', '(.+)'\)/g),
        ].map(([, phase, step]) => `${phase}: ${step}`),
      );
    expect(steps).toEqual(
      expect.arrayContaining([
        'background: log of troubles',
        'announce: readiness',
        'archive: audit',
        'archive: history',
        'background: catalogue',
        'background: lost settlements',
        'background: quality',
        'background: reconciliation',
        'doors: requests',
        'hand-over: lanes',
        'lanes: lanes',
        'process: counts of settles',
        'process: process record',
        'requests: requests',
        'traces: traces',
        'waits: look-ups',
        'waits: simulated settles',
        'waits: webhooks',
        'webhooks: webhooks',
      ]),
    );
  });

  it('tells a client nothing of an unexpected error', () => {
    let body = '';
    const response = {
      statusCode: 0,
      headersSent: false,
      req: { url: '/' },
      setHeader: () => undefined,
      getHeader: () => undefined,
      end: (text: unknown) => {
        body = String(text);
      },
    };
    const logger = { error: () => undefined } as unknown as PinoLogger;
    const error = new TypeError('connect redis://user:password@redis.internal:6379');
    new ErrorFilter(logger).answer(error, response as unknown as ServerResponse);
    expect(response.statusCode).toBe(500);
    expect(body).toContain('Internal error');
    expect(body).not.toMatch(/redis|password/);
  });
});

const secret = (name: string): string => `the ${name} of this test, of no value at all`;

/** What a process of each role cannot do without. */
const BARE = {
  REDIS_URL: 'redis://127.0.0.1:1',
  DATABASE_URL: 'postgres://nobody@127.0.0.1:1/nothing',
  SIGNER_KEYS: `0x${'1'.repeat(64)}`,
  HUB_DATA_DIR: '/nowhere/hub',
  HUB_ADDRESS: `0x${'2'.repeat(40)}`,
};

const WALLET = {
  WALLET_PROVIDER: 'local',
  WALLET_PUBLIC_URL: 'https://wallet.example',
  WALLET_TOKEN_SECRET: secret('token secret'),
  WALLET_SEAL_SECRET: secret('seal secret'),
  WALLET_KEYSTORE_SECRET: secret('keystore secret'),
};

/** Everything that can be turned on beside it. */
const FULL = {
  ...BARE,
  ...WALLET,
  API_KEYS_FILE: '/nowhere/keys.json',
  OPS_PORT: '4023',
  DOCTOR: 'true',
  RATE_LIMIT_VERIFY: '10',
  RECONCILE_AT: '03:30',
  TRACES_URL: 'http://127.0.0.1:1/v1/traces',
  WALLET_OAUTH: 'true',
  WEBHOOK_KEY: secret('webhook key'),
};

/** Connects to nothing: of each module, only what it imports and what its providers ask for is looked at. */
async function compose(settings: Record<string, string>): Promise<ModulesContainer> {
  const module = await AppModule.forRoot(AppConfig.fromEnv(settings));
  const app = await NestFactory.createApplicationContext(module, {
    preview: true,
    abortOnError: false,
    logger: false,
  });
  return app.get(ModulesContainer);
}

describe('the modules of a process', () => {
  it.each([...ROLES, 'all'])('with the role %s find what they need', async (role) => {
    const { DATABASE_URL, ...withoutDatabase } = BARE;
    const least =
      role === 'history' || role === 'all' ? { ...withoutDatabase, DATABASE_URL } : withoutDatabase;
    await compose({ ...least, ...(role === 'wallet' && WALLET), ROLES: role });
    await compose({ ...FULL, ROLES: role });
  });

  it('are imported where they are needed; four of them are global', async () => {
    const modules = await compose({ ...FULL, ROLES: 'all' });
    const globals = [...modules.values()].filter(({ isGlobal }) => isGlobal);
    expect(new Set(globals.map(({ name }) => name))).toEqual(
      new Set([
        'ConfigModule',
        'RedisModule',
        'ObserversModule',
        'ArchiveModule',
        // Of packages.
        'InternalCoreModule',
        'LoggerModule',
        'BullModule',
      ]),
    );
  });
});
