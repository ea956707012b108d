import 'reflect-metadata';
import { readdirSync, readFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { type ArgumentsHost, type ExceptionFilter, HttpException, type Type } from '@nestjs/common';
import {
  EXCEPTION_FILTERS_METADATA,
  FILTER_CATCH_EXCEPTIONS,
  GUARDS_METADATA,
  METHOD_METADATA,
  PARAMTYPES_METADATA,
  ROUTE_ARGS_METADATA,
} from '@nestjs/common/constants.js';
import { RouteParamtypes } from '@nestjs/common/enums/route-paramtypes.enum.js';
import {
  APP_FILTER,
  APP_GUARD,
  APP_INTERCEPTOR,
  APP_PIPE,
  MetadataScanner,
  ModulesContainer,
  NestFactory,
  Reflector,
} from '@nestjs/core';
import { getMetadataStorage, ValidationTypes } from 'class-validator';
import { PinoLogger } from 'nestjs-pino';
import { AppModule } from './app.module.js';
import { AccessGuard } from './operations/access/access.guard.js';
import { AppConfig, ROLES } from './platform/config/app-config.js';
import { Secret } from './platform/config/secret.js';
import { DatabasePools } from './platform/database/database-pools.js';
import { ruleOf } from './platform/http/access.js';
import { ErrorFilter } from './platform/http/error.filter.js';
import { HttpModule } from './platform/http/http.module.js';
import { JsonBodyInterceptor } from './platform/http/json-body.interceptor.js';
import { OpsGuard, OpsOnly } from './platform/http/ops.js';
import { RequestPipe } from './platform/http/request.pipe.js';
import { SettlementIdPipe } from './platform/http/settlement-id.pipe.js';
import { SHUTDOWN_PHASES, type ShutdownPhase } from './platform/lifecycle/at-shutdown.js';
import { FeatureHealth } from './platform/observability/feature-health.js';
import { ChainUnavailableError, RedisUnavailableError } from './protocol/errors.js';

/** What holds the parts together, which no part knows: each of these was taken out once, and nothing else failed. */
describe('the wiring of a process', () => {
  const providersOf = (module: object): unknown =>
    Reflect.getMetadata('providers', module) as unknown;

  it('reads and validates what comes to every route', () => {
    expect(providersOf(HttpModule)).toEqual(
      expect.arrayContaining([
        { provide: APP_INTERCEPTOR, useClass: JsonBodyInterceptor },
        { provide: APP_PIPE, useClass: RequestPipe },
      ]),
    );
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
    expect(SHUTDOWN_PHASES).toEqual([
      // Load balancers see it while connections are still accepted.
      'announce',
      // Before the doors: what takes seconds to end begins to end at once.
      'waits',
      // Before the lanes: a request that comes later would wait for lanes that are gone.
      'doors',
      // Before the requests: another process settles them. Without another process they need the lanes of this one.
      'hand-over',
      'requests',
      'lanes',
      // Behind the lanes, and ahead of other work: running attempts have a limit of their own.
      'webhooks',
      'background',
      // Behind all that changes what is archived.
      'archive',
      // Behind all that is traced.
      'traces',
      // While its record stands, others expect this process to finish its work.
      'process',
      'ledgers',
    ] satisfies ShutdownPhase[]);
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
    expect(steps.sort()).toEqual([
      'announce: readiness',
      'archive: audit',
      'archive: history',
      'background: catalogue',
      'background: lane watch',
      'background: log of troubles',
      'background: lost settlements',
      'background: quality',
      'background: reconciliation',
      'doors: requests',
      'hand-over: lanes',
      'lanes: lanes',
      'ledgers: presence',
      'process: counts of settles',
      'process: process record',
      'requests: requests',
      'traces: traces',
      'waits: look-ups',
      'waits: settles',
      'waits: simulated settles',
      'waits: webhooks',
      'webhooks: webhooks',
    ]);
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

/** A class of a body or a query. */
type Dto = new () => object;

/** A class, as Nest knows controllers and providers. */
type Class = abstract new (...parts: never[]) => object;

const FROM: Readonly<Record<string, 'body' | 'query'>> = {
  [RouteParamtypes.BODY]: 'body',
  [RouteParamtypes.QUERY]: 'query',
};

interface Parameter {
  /** `FilesV1Controller.put`. */
  readonly handler: string;
  readonly from: 'body' | 'query' | 'elsewhere';
  readonly pipes: readonly unknown[];
  readonly type: unknown;
}

function parametersOf(controller: Class): readonly Parameter[] {
  const found: Parameter[] = [];
  const seen = new Set<string>();
  let at = controller.prototype as object;
  while (at !== Object.prototype) {
    for (const method of Object.getOwnPropertyNames(at)) {
      if (seen.has(method)) continue;
      seen.add(method);
      const types = Reflect.getMetadata('design:paramtypes', at, method) as unknown[] | undefined;
      const noted = (Reflect.getMetadata(ROUTE_ARGS_METADATA, controller, method) ??
        {}) as Readonly<Record<string, { index: number; pipes: unknown[] }>>;
      for (const [key, { index, pipes }] of Object.entries(noted)) {
        found.push({
          handler: `${controller.name}.${method}`,
          from: FROM[key.split(':')[0] ?? ''] ?? 'elsewhere',
          pipes,
          type: types?.[index],
        });
      }
    }
    at = Object.getPrototypeOf(at) as object;
  }
  return found;
}

function handlersOf(controller: Class): readonly object[] {
  const { prototype } = controller as unknown as { readonly prototype: object };
  return new MetadataScanner()
    .getAllMethodNames(prototype)
    .map((name) => Reflect.get(prototype, name) as object);
}

/** Types of fields that are no class of a part. */
const BUILT_IN = new Set<unknown>([undefined, Object, String, Number, Boolean, Array]);

const LEAK = /redis:|password|internal:6379/;
const LEAKING = 'connect redis://user:password@redis.internal:6379';

/** Errors that no handler expects, and those of a lost Redis and a lost chain. */
const UNEXPECTED: readonly Error[] = [
  new TypeError(LEAKING),
  new HttpException(LEAKING, 500),
  new RedisUnavailableError('look', LEAKING),
  new ChainUnavailableError(56, LEAKING, LEAKING),
];

interface FilterAnswer {
  readonly status: number;
  readonly text: string;
}

/** @returns the answer of the filter, or of the one for every route where this filter is not for such an error. */
function answerOf(filter: Class, error: Error): FilterAnswer {
  const caught = (Reflect.getMetadata(FILTER_CATCH_EXCEPTIONS, filter) ?? []) as Class[];
  const isCaught = caught.length === 0 || caught.some((type) => error instanceof type);
  const type = (isCaught ? filter : ErrorFilter) as new (...parts: unknown[]) => ExceptionFilter;
  const parts = (Reflect.getMetadata(PARAMTYPES_METADATA, type) ?? []) as unknown[];
  const logger = { error: () => undefined };
  const settings = { hub: { usesLegacyStatus: false }, publicUrl: 'https://wallet.example' };
  let text = '';
  const response = {
    statusCode: 0,
    headersSent: false,
    req: { url: '/', method: 'POST', headers: {} },
    setHeader: () => undefined,
    getHeader: () => undefined,
    end: (body: unknown) => {
      text = String(body);
    },
  };
  const host = { switchToHttp: () => ({ getRequest: () => ({}), getResponse: () => response }) };
  new type(...parts.map((part) => (part === PinoLogger ? logger : settings))).catch(
    error,
    host as unknown as ArgumentsHost,
  );
  return { status: response.statusCode, text };
}

describe('a process with everything', () => {
  let modules: ModulesContainer;
  beforeAll(async () => {
    modules = await compose({ ...FULL, ROLES: 'all' });
  });
  const controllersOf = (room: RegExp): Class[] =>
    [...modules.values()]
      .filter(({ name }) => room.test(name))
      .flatMap(({ controllers }) =>
        [...controllers.values()].map(({ metatype }) => metatype as Class),
      );
  const guardsOf = (controller: Class): string[] =>
    ((Reflect.getMetadata(GUARDS_METADATA, controller) ?? []) as { name: string }[]).map(
      ({ name }) => name,
    );

  it('passes each request by the guards of operators, of keys and of limits, in this order', () => {
    const guards = [...modules.values()].flatMap(({ providers }) =>
      [...providers.values()].filter(({ token }) => String(token).startsWith(APP_GUARD)),
    );
    expect(guards.map(({ metatype }) => metatype)).toEqual([OpsGuard, AccessGuard]);
  });

  it('has the guard of a room before each of its handlers', () => {
    const without = (guard: RegExp, module: RegExp): string[] =>
      controllersOf(module)
        .filter((one) => !guardsOf(one).some((name) => guard.test(name)))
        .map(({ name }) => name);
    // Pages, and what anyone may know of the hub.
    const open = ['ApiInfoController', 'HubPageController'];
    expect(without(/^AddressLimitGuard$/, /^HubModule$/)).toEqual(open);
    expect(without(/^(V1)?CallerGuard$/, /^HubModule$/)).toEqual(open);
    expect(without(/^WalletAuthGuard$/, /^Wallet(Api|OAuth)Module$/)).toEqual([
      'WalletPagesController',
    ]);
  });

  it('asks of each route its scope and its limit, or has it for operators alone', () => {
    const reflector = new Reflector();
    const askedBy = (controller: Class, handler: object): string => {
      const places = [handler as () => unknown, controller as Type] as const;
      const { scope = 'open', bucket } = ruleOf(reflector, places[1], places[0]);
      const isForOps = reflector.getAllAndOverride(OpsOnly, [...places]) !== undefined;
      return `${isForOps ? 'operators ' : ''}${scope}${bucket === undefined ? '' : `, ${bucket}`}`;
    };
    const rules: Record<string, string[]> = {};
    for (const controller of new Set(controllersOf(/./))) {
      if (guardsOf(controller).includes('WalletAuthGuard')) continue;
      const { name } = controller;
      const routes = handlersOf(controller).filter((one) =>
        Reflect.hasMetadata(METHOD_METADATA, one),
      );
      const asked = routes.map((one) => [askedBy(controller, one), (one as Type).name] as const);
      const isOne = new Set(asked.map(([rule]) => rule)).size === 1;
      for (const [rule, route] of asked)
        (rules[rule] ??= []).push(isOne ? name : `${name}.${route}`);
    }
    const found = Object.entries(rules).map(
      ([rule, routes]) => [rule, [...new Set(routes)].sort()] as const,
    );
    const versions = ['Root', 'V1', 'V2'] as const;
    const facilitator = (...routes: readonly string[]): string[] =>
      versions.flatMap((one) => routes.map((route) => `Facilitator${one}Controller.${route}`));
    expect(Object.fromEntries(found)).toEqual({
      'settle, settle': facilitator('settle'),
      'verify, verify': facilitator('verify', 'verifyQuery'),
      verify: ['DoctorV2Controller'],
      'history, lookup': ['WebhooksV2Controller'],
      hub: [
        'ApiConversationController',
        'ApiDownloadController',
        'ApiIncomingController.takeBack',
        'ApiInfoController',
        'ApiListController',
        'ApiObjectController',
        'ApiPriceController',
        'ApiRetentionController',
        'ApiSharedController.takeBack',
        'ApiUploadController',
        'ApiVersionController',
        'V1BucketsController',
        'V1ObjectsController',
        'V1TotalsController',
      ],
      'operators admin': [
        'AdminCatalogueController',
        'AdminController',
        'AdminHistoryController',
        'TakedownsController',
      ],
      'operators open': ['AdminPageController', 'MetricsController'],
      'open, lookup': [
        'AssetsV2Controller',
        ...versions.map((one) => `Discovery${one}Controller`),
        ...facilitator('accepts', 'settleQuery'),
        'SellersV2Controller',
        'SettlementsV2Controller',
      ],
      // Links and pages, what anyone may know of this process, and answers to wrong methods.
      open: [
        'ApiIncomingController.take',
        'ApiSharedController.read',
        'DiscoveryPageController',
        'DoctorPageController',
        ...facilitator('supported', 'wrongSettleMethod', 'wrongVerifyMethod'),
        'HealthController',
        'HubPageController',
        'LandingController',
        'OpenApiController',
        'PageFilesController',
        'ReceiptKeysController',
        'WalletPagesController',
      ],
    });
  });

  it('judges each body and query by a class or by a pipe of its handler', () => {
    const parameters = controllersOf(/./).flatMap(parametersOf);
    const unjudged = parameters
      .filter(
        ({ from, pipes, type }) => from !== 'elsewhere' && pipes.length === 0 && type === Object,
      )
      .map(({ handler }) => handler);
    // Their services judge what a client sends.
    expect(unjudged.sort()).toEqual([
      'ApprovalsV1Controller.statusByQuery',
      'DiscoveryRootController.validate',
      'DiscoveryV1Controller.validate',
      'DiscoveryV2Controller.validate',
      'FacilitatorRootController.accepts',
      'FacilitatorV1Controller.accepts',
      'FacilitatorV2Controller.accepts',
    ]);
    const ids = parameters.filter(({ pipes }) => pipes.includes(SettlementIdPipe));
    expect(ids.map(({ handler }) => handler).sort()).toEqual([
      'AdminHistoryController.life',
      'SellersV2Controller.receipt',
      'SettlementsV2Controller.byId',
    ]);
  });

  it('has a rule for each field of a body and a query, and of the objects in it', () => {
    const rulesOf = (type: Dto) =>
      getMetadataStorage().getTargetValidationMetadatas(type, '', false, false);
    const classOf = (type: Dto, field: string): Dto | undefined => {
      const found: unknown = Reflect.getMetadata('design:type', type.prototype as object, field);
      return BUILT_IN.has(found) ? undefined : (found as Dto);
    };
    const types = new Set(
      controllersOf(/./)
        .flatMap(parametersOf)
        .filter(({ from }) => from !== 'elsewhere')
        .map(({ type }) => type as Dto)
        .filter((type) => typeof type === 'function' && type.name.endsWith('Dto')),
    );
    const parts: string[] = [];
    const faults: string[] = [];
    // A set that grows is gone through to its end.
    for (const type of types) {
      const rules = rulesOf(type);
      // A class field is there before it has a value.
      const fields = new Set(Object.keys(new type()));
      for (const field of new Set([...fields, ...rules.map((rule) => rule.propertyName)])) {
        const own = rules.filter(({ propertyName }) => propertyName === field);
        if (own.length === 0) faults.push(`${type.name}.${field} has no rule`);
        const part = classOf(type, field);
        if (part === undefined) continue;
        parts.push(`${type.name}.${field}`);
        types.add(part);
        const isJudged = own.some((rule) => rule.type === ValidationTypes.NESTED_VALIDATION);
        if (!isJudged) faults.push(`${type.name}.${field} is not looked into`);
      }
    }
    expect(types.size).toBeGreaterThan(30);
    expect(parts).toEqual(
      expect.arrayContaining(['CatalogueStatementDto.statement', 'ApprovalDto.assertion']),
    );
    expect(faults).toEqual([]);
  });

  it('tells a client nothing of an unexpected error, on any route', () => {
    const filters = controllersOf(/./).flatMap((controller) =>
      [controller, ...handlersOf(controller)].flatMap(
        (at) => (Reflect.getMetadata(EXCEPTION_FILTERS_METADATA, at) ?? []) as Class[],
      ),
    );
    const everywhere = [...modules.values()].flatMap(({ providers }) =>
      [...providers.values()].filter(({ token }) => String(token).startsWith(APP_FILTER)),
    );
    expect(everywhere.map(({ metatype }) => metatype)).toEqual([ErrorFilter]);
    const names = new Set<string>();
    for (const filter of new Set([ErrorFilter, ...filters])) {
      names.add(filter.name);
      for (const error of UNEXPECTED) {
        const { status, text } = answerOf(filter, error);
        const found = { filter: filter.name, error: error.name, isFault: status >= 500, text };
        expect(found).toMatchObject({ isFault: true, text: expect.stringMatching(/^\{.+\}$/) });
        expect(found).toMatchObject({ text: expect.not.stringMatching(LEAK) });
      }
    }
    expect(names).toEqual(
      new Set([
        'AdminErrorFilter',
        'ErrorFilter',
        'HubErrorFilter',
        'HubV1ErrorFilter',
        'SettleErrorFilter',
        'UnavailableFilter',
        'VerifyErrorFilter',
        'WalletErrorFilter',
      ]),
    );
  });

  it('has an indicator for each feature', () => {
    const indicators = [...modules.values()].flatMap(({ providers }) =>
      [...providers.values()]
        .map(({ metatype }) => metatype as Class | null)
        .filter((type) => type?.prototype instanceof FeatureHealth)
        .map((type) => type?.name),
    );
    expect(new Set(indicators)).toEqual(
      new Set([
        'ApiKeysHealth',
        'HistoryHealth',
        'HistoryTables',
        'HubHealth',
        'LanesHealth',
        'NetworksHealth',
        'QueuesHealth',
        'ReconciliationHealth',
        'SettlesHealth',
        'UnclaimedHealth',
        'WalletHealth',
        'WalletProviderHealth',
      ]),
    );
  });
});
