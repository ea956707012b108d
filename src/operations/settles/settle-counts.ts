import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import type { PaymentObserver } from '../../facilitator/payment-observer.js';
import { CachedPromise } from '../../platform/concurrency/cached-promise.js';
import { Rounds } from '../../platform/concurrency/rounds.js';
import { AtShutdown } from '../../platform/lifecycle/at-shutdown.js';
import type { SharedRedis } from '../../platform/redis/ledger-connections.js';
import { LEDGER_REDIS } from '../../platform/redis/redis.module.js';
import { redisCall, runKeyedScript, script } from '../../platform/redis/redis-scripts.js';
import { RedisUnavailableError } from '../../protocol/errors.js';
import { type Fault, type Reason, REASONS } from '../../protocol/reasons.js';
import { CHANNEL_ACTIONS, type ChannelAction } from '../../protocol/schemes/scheme.js';
import { settlesKey } from '../../settlement/ledger/keys.js';
import { ProcessRegistry } from '../../settlement/ledger/process-registry.js';

/** The answers to settle requests in the last 24 hours; one payment may have several. */
export interface SettleTotals {
  readonly succeeded: number;
  /** Answers with a hash whose outcome was unknown. */
  readonly pending: number;
  readonly refused: number;
  /** Reasons, most frequent first. */
  readonly reasons: readonly RefusedFor[];
  /** The requests about channels, by action. */
  readonly channels: readonly ChannelTotals[];
}

interface ChannelTotals {
  readonly action: ChannelAction;
  readonly succeeded: number;
  readonly pending: number;
  readonly refused: number;
  /** Reasons, most frequent first. */
  readonly reasons: readonly { readonly reason: Reason; readonly count: number }[];
}

interface RefusedFor {
  readonly reason: Reason;
  readonly fault: Fault;
  readonly count: number;
  /** By the id of the API key, where keys are in use: most frequent first, at most {@link SELLERS_SHOWN}. */
  readonly sellers: readonly { readonly key: string; readonly count: number }[];
}

const HOUR_MS = 3_600_000;
const HOURS = 24;
const KEPT_SECONDS = 90_000;
const WRITE_MS = 2000;
const TOTALS_KEPT_MS = 2000;
const SELLERS_SHOWN = 20;
/** Limit of waiting counters during an outage of Redis. */
const WAITING_MOST = 10_000;

/**
 * Adds counts once: a batch whose reply was lost is sent again unchanged.
 *
 * KEYS[1] counts of an hour. ARGV[1] process, ARGV[2] number of its batch, ARGV[3] seconds they are kept, ARGV[4..] name,
 * count, ... Returns 1, or 0 where they were added before.
 */
const ADD_ONCE = script(
  'settle_counts_add',
  String.raw`
local batch = 'batch:' .. ARGV[1]
if tonumber(redis.call('HGET', KEYS[1], batch) or '0') >= tonumber(ARGV[2]) then return 0 end
for i = 4, #ARGV, 2 do redis.call('HINCRBY', KEYS[1], ARGV[i], ARGV[i + 1]) end
redis.call('HSET', KEYS[1], batch, ARGV[2])
redis.call('EXPIRE', KEYS[1], ARGV[3])
return 1
`,
);

/** Counts of one hour that are being written. */
interface Batch {
  readonly key: string;
  readonly number: number;
  readonly counts: ReadonlyMap<string, number>;
}

/**
 * Counts the answers to settles, for all processes together. Counts are collected and written every two seconds: a
 * refusal needs no call of its own, and a process that dies loses two seconds.
 */
@Injectable()
export class SettleCounts implements OnModuleInit, PaymentObserver {
  readonly #rounds = new Rounds(() => this.#round());
  readonly #totals: CachedPromise<SettleTotals>;
  /** By the key of an hour, then by the name of a count. */
  #waiting = new Map<string, Map<string, number>>();
  /** In order: an unconfirmed batch is written again before newer ones. */
  readonly #writing: Batch[] = [];
  #batches = 0;

  constructor(
    @Inject(LEDGER_REDIS) private readonly redis: SharedRedis,
    @Inject(ProcessRegistry) private readonly process: Pick<ProcessRegistry, 'processId'>,
  ) {
    this.#totals = new CachedPromise(() => this.#read(), TOTALS_KEPT_MS);
  }

  onModuleInit(): void {
    this.#rounds.start();
  }

  @AtShutdown('process', 'counts of settles')
  async stop(): Promise<void> {
    await this.#rounds.stop();
    await this.#round();
  }

  verified(): void {
    // Only settles are counted.
  }

  settled(...[{ action }, result, reason, , caller]: Parameters<PaymentObserver['settled']>): void {
    const name = result === 'failure' ? reason : result;
    if (name === undefined || name === 'accepted' || name === 'hung_up') return;
    this.#add(name);
    if (action !== undefined) this.#add(`${action}:${name}`);
    if (result === 'failure' && caller !== undefined) this.#add(`${name}|${caller}`);
  }

  /**
   * Of this hour and the 23 before it, some seconds old.
   *
   * @throws RedisUnavailableError
   */
  totals(): Promise<SettleTotals> {
    return this.#totals.get();
  }

  #add(name: string): void {
    const key = settlesKey(hourOf(Date.now()));
    const counts = this.#waiting.get(key) ?? new Map<string, number>();
    if (!counts.has(name) && counts.size >= WAITING_MOST) return;
    counts.set(name, (counts.get(name) ?? 0) + 1);
    this.#waiting.set(key, counts);
    if (this.#waiting.size > HOURS) this.#waiting.delete([...this.#waiting.keys()][0] ?? '');
  }

  /** Does not fail during an outage of Redis: the next round writes the batch again. */
  async #round(): Promise<number> {
    try {
      await this.#writeBatches();
      this.#gather();
      await this.#writeBatches();
    } catch (error) {
      if (!(error instanceof RedisUnavailableError)) throw error;
    }
    return WRITE_MS;
  }

  #gather(): void {
    for (const [key, counts] of this.#waiting) {
      this.#batches += 1;
      this.#writing.push({ key, number: this.#batches, counts });
    }
    this.#waiting = new Map();
  }

  async #writeBatches(): Promise<void> {
    const { processId } = this.process;
    for (let batch = this.#writing[0]; batch !== undefined; batch = this.#writing[0]) {
      const { key, number, counts } = batch;
      const args = [processId, number, KEPT_SECONDS, ...[...counts].flat()];
      await runKeyedScript(this.redis, ADD_ONCE, [key], args);
      this.#writing.shift();
    }
  }

  async #read(): Promise<SettleTotals> {
    const hour = hourOf(Date.now());
    const hours = Array.from({ length: HOURS }, (_, ago) => settlesKey(hour - ago));
    const read = await redisCall(
      'settle_counts',
      Promise.all(hours.map((key) => this.redis.hgetall(key))),
    );
    const sums = new Map<string, number>();
    for (const [name, count] of read.flatMap((counts) => Object.entries(counts))) {
      sums.set(name, (sums.get(name) ?? 0) + Number(count));
    }
    return totalsOf(sums);
  }
}

function hourOf(ms: number): number {
  return Math.floor(ms / HOUR_MS);
}

/** Reasons of a newer version that this one does not know are left out. */
function totalsOf(sums: ReadonlyMap<string, number>): SettleTotals {
  const sellers = new Map<string, { key: string; count: number }[]>();
  const reasons: RefusedFor[] = [];
  for (const [name, count] of sums) {
    const bar = name.indexOf('|');
    const reason = bar < 0 ? name : name.slice(0, bar);
    if (!isReason(reason)) continue;
    const own = sellers.get(reason) ?? [];
    sellers.set(reason, own);
    if (bar < 0) reasons.push({ reason, fault: REASONS[reason].fault, count, sellers: own });
    else own.push({ key: name.slice(bar + 1), count });
  }
  return {
    succeeded: sums.get('success') ?? 0,
    pending: sums.get('pending') ?? 0,
    refused: reasons.reduce((sum, { count }) => sum + count, 0),
    reasons: reasons.sort(mostFirst).map((one) => ({
      ...one,
      sellers: [...one.sellers].sort(mostFirst).slice(0, SELLERS_SHOWN),
    })),
    channels: CHANNEL_ACTIONS.map((action) => channelTotalsOf(action, sums)).filter(
      ({ succeeded, pending, refused }) => succeeded + pending + refused > 0,
    ),
  };
}

function channelTotalsOf(action: ChannelAction, sums: ReadonlyMap<string, number>): ChannelTotals {
  const prefix = `${action}:`;
  const reasons = [...sums].flatMap(([name, count]) => {
    const reason = name.startsWith(prefix) ? name.slice(prefix.length) : '';
    return isReason(reason) ? [{ reason, count }] : [];
  });
  return {
    action,
    succeeded: sums.get(`${prefix}success`) ?? 0,
    pending: sums.get(`${prefix}pending`) ?? 0,
    refused: reasons.reduce((sum, { count }) => sum + count, 0),
    reasons: reasons.sort(mostFirst),
  };
}

function mostFirst(a: { readonly count: number }, b: { readonly count: number }): number {
  return b.count - a.count;
}

function isReason(text: string): text is Reason {
  return Object.hasOwn(REASONS, text);
}
