import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { ReplyError } from 'ioredis';
import { PinoLogger } from 'nestjs-pino';
import { CachedPromise } from '../concurrency/cached-promise.js';
import { LedgerConnections, type SharedRedis } from './ledger-connections.js';

/** The unsafe settings of a Redis. They do not stop the service. */
type RedisWarning =
  | 'aof_off'
  | 'aof_not_always'
  | 'aof_write_failed'
  | 'may_evict'
  | 'is_replica'
  | 'memory_almost_full';

/** The settings of a Redis. A field is `undefined` if Redis does not report it, as some hosted ones do not. */
export interface RedisSetUp {
  readonly aof: 'off' | 'always' | 'everysec' | 'no' | undefined;
  readonly evictionPolicy: string | undefined;
  readonly usedMemoryBytes: number | undefined;
  /** 0 for no limit. */
  readonly maxMemoryBytes: number | undefined;
  readonly warnings: readonly RedisWarning[];
}

/** Long, because settings change only by hand. */
const SET_UP_KEPT_MS = 10_000;
/** Share of the memory limit. Beyond the limit Redis refuses writes, and nothing can be settled. */
const MEMORY_SHARE_MAX = 0.9;

const DURABILITY_UNKNOWN =
  'Redis does not report its appendonly and appendfsync settings, so this service cannot check whether writes survive a crash; see docs/runbook.md, "Redis loss"';

/** Checks the servers of the ledger: one, or in a Cluster each primary with the ledger of a chain. */
@Injectable()
export class RedisWatch implements OnModuleInit {
  readonly #servers: readonly SharedRedis[];
  readonly #ping: CachedPromise<number>;
  readonly #setUp: CachedPromise<RedisSetUp>;
  #warned = '';

  constructor(
    @Inject(LedgerConnections) ledger: Pick<LedgerConnections, 'servers' | 'shared'>,
    @Inject(PinoLogger) private readonly logger: Pick<PinoLogger, 'info' | 'warn'>,
  ) {
    this.#servers = ledger.servers.length === 0 ? [ledger.shared] : ledger.servers;
    this.#ping = new CachedPromise(() => this.#measure(), 0);
    this.#setUp = new CachedPromise(() => this.#look(), SET_UP_KEPT_MS);
  }

  /** The first check is for its warnings. If Redis is unreachable now, the next report checks. */
  onModuleInit(): void {
    this.setUp().then(
      ({ aof }) => {
        if (aof === undefined) this.logger.warn(DURABILITY_UNKNOWN);
      },
      () => undefined,
    );
  }

  /**
   * Milliseconds of the longest round trip to the servers; concurrent callers share it. Fails if one server does not
   * answer.
   */
  roundTripMs(): Promise<number> {
    return this.#ping.get();
  }

  setUp(): Promise<RedisSetUp> {
    return this.#setUp.get();
  }

  async #measure(): Promise<number> {
    const begun = performance.now();
    await Promise.all(this.#servers.map((redis) => redis.ping()));
    return performance.now() - begun;
  }

  async #look(): Promise<RedisSetUp> {
    const setUp = worstOf(await Promise.all(this.#servers.map(setUpOf)));
    const warned = setUp.warnings.join();
    if (warned !== this.#warned) this.#log(setUp.warnings);
    this.#warned = warned;
    return setUp;
  }

  #log(warnings: readonly RedisWarning[]): void {
    if (warnings.length > 0) {
      this.logger.warn({ warnings }, 'the Redis configuration may lose or evict ledger data');
    } else {
      this.logger.info('the Redis configuration is safe for the ledger again');
    }
  }
}

/** The present settings of one server. */
export async function setUpOf(redis: SharedRedis): Promise<RedisSetUp> {
  const [info, appendFsync] = await Promise.all([
    unlessRefused(redis.info()),
    unlessRefused(redis.config('GET', 'appendfsync')),
  ]);
  return readSetUp(info ?? '', Array.isArray(appendFsync) ? String(appendFsync[1]) : undefined);
}

/** The combination of several servers: the worst settings, and the memory of the server with the least free. */
export function worstOf(setUps: readonly RedisSetUp[]): RedisSetUp {
  const share = ({ usedMemoryBytes = 0, maxMemoryBytes = 0 }: RedisSetUp): number =>
    maxMemoryBytes === 0 ? 0 : usedMemoryBytes / maxMemoryBytes;
  const [fullest = UNKNOWN_SETUP] = [...setUps].sort((one, other) => share(other) - share(one));
  const policies = setUps.map(({ evictionPolicy }) => evictionPolicy);
  return {
    ...fullest,
    aof: AOF_BY_RISK.find((risk) => setUps.some(({ aof }) => aof === risk)),
    evictionPolicy: policies.find((policy) => policy !== 'noeviction') ?? policies[0],
    warnings: [...new Set(setUps.flatMap(({ warnings }) => warnings))],
  };
}

const AOF_BY_RISK = ['off', 'no', 'everysec', undefined, 'always'] as const;

const UNKNOWN_SETUP: RedisSetUp = {
  aof: undefined,
  evictionPolicy: undefined,
  usedMemoryBytes: undefined,
  maxMemoryBytes: undefined,
  warnings: [],
};

/**
 * Why this service cannot use a Redis at all, in words for the operator; `undefined` if it can, or if Redis does not
 * report its mode.
 */
export async function unusableRedis(redis: SharedRedis): Promise<string | undefined> {
  return readUnusable((await unlessRefused(redis.info())) ?? '');
}

/** @param info - the answer of `INFO`. */
export function readUnusable(info: string): string | undefined {
  const fields = fieldsOf(info);
  // The name of this field in Valkey.
  const mode = fields.get('redis_mode') ?? fields.get('server_mode');
  if (mode === 'cluster') {
    return 'leads to a node of a Redis Cluster; in REDIS_URL write redis+cluster://host:port,host:port; the hub and the wallet need a single primary';
  }
  if (mode === 'sentinel') {
    return 'leads to a Sentinel, not to a Redis that holds data; use redis+sentinel://host:port/master';
  }
  return fields.get('role') === 'slave'
    ? 'leads to a replica, which accepts no writes; use the primary'
    : undefined;
}

const UNSAFE = {
  aof_off: 'appendonly is off, so a restart loses it (set appendonly yes, appendfsync always)',
  may_evict: 'maxmemory-policy lets it evict keys (set noeviction)',
} as const;

export type UnsafeSetUp = keyof typeof UNSAFE;

/** The unsafe settings of a Redis in words; `undefined` if it has none, or does not report them. */
export function readUnsafe(
  { warnings }: Pick<RedisSetUp, 'warnings'>,
  wanted: readonly UnsafeSetUp[],
): string | undefined {
  const faults = wanted.filter((one) => warnings.includes(one)).map((one) => UNSAFE[one]);
  return faults.length === 0 ? undefined : faults.join('; ');
}

/** A hosted Redis may forbid these commands. Then its settings are unknown, which is not an error. */
async function unlessRefused<T>(reply: Promise<T>): Promise<T | undefined> {
  try {
    return await reply;
  } catch (error) {
    if (error instanceof ReplyError) return undefined;
    throw error;
  }
}

/**
 * @param info - the answer of `INFO`: lines of `name:value`.
 * @param appendFsync - the answer of `CONFIG GET appendfsync`, if allowed.
 */
export function readSetUp(info: string, appendFsync: string | undefined): RedisSetUp {
  const fields = fieldsOf(info);
  const aof = readAof(fields.get('aof_enabled'), appendFsync);
  const evictionPolicy = fields.get('maxmemory_policy');
  const usedMemoryBytes = readCount(fields.get('used_memory'));
  const maxMemoryBytes = readCount(fields.get('maxmemory'));
  const isFull =
    usedMemoryBytes !== undefined &&
    maxMemoryBytes !== undefined &&
    maxMemoryBytes > 0 &&
    usedMemoryBytes > maxMemoryBytes * MEMORY_SHARE_MAX;
  const signs: readonly (readonly [RedisWarning, boolean])[] = [
    ['aof_off', aof === 'off'],
    ['aof_not_always', aof === 'everysec' || aof === 'no'],
    ['aof_write_failed', fields.get('aof_last_write_status') === 'err'],
    ['may_evict', evictionPolicy !== undefined && evictionPolicy !== 'noeviction'],
    ['is_replica', fields.get('role') === 'slave'],
    ['memory_almost_full', isFull],
  ];
  const warnings = signs.filter(([, isSeen]) => isSeen).map(([warning]) => warning);
  return { aof, evictionPolicy, usedMemoryBytes, maxMemoryBytes, warnings };
}

function fieldsOf(info: string): ReadonlyMap<string, string> {
  return new Map(
    info.split(/\r?\n/).map((line) => {
      const [name = '', ...value] = line.split(':');
      return [name, value.join(':')];
    }),
  );
}

function readAof(enabled: string | undefined, appendFsync: string | undefined): RedisSetUp['aof'] {
  if (enabled === '0') return 'off';
  const known = (['always', 'everysec', 'no'] as const).find((policy) => policy === appendFsync);
  return enabled === '1' ? known : undefined;
}

function readCount(text: string | undefined): number | undefined {
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : undefined;
}
