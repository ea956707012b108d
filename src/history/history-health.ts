import { Injectable } from '@nestjs/common';
import { PinoLogger } from 'nestjs-pino';
import type { Clock } from '../platform/concurrency/clock.js';
import { CachedPromise } from '../platform/concurrency/cached-promise.js';
import { FeatureHealth, type HealthReport } from '../platform/observability/feature-health.js';
import type { RedisWatch } from '../platform/redis/redis-watch.js';
import { caip2Of } from '../protocol/payment/network.js';
import type { Backlog, Outbox } from '../settlement/ledger/outbox.js';
import type { ArchiveCondition } from './archive.js';
import { MemoryTrend } from './memory-trend.js';

interface HistoryHealthOptions {
  readonly outbox: Outbox;
  readonly chainIds: readonly number[];
  readonly redis: Pick<RedisWatch, 'setUp'>;
  /** Of the archiver of this process, where it has one. */
  readonly trouble: () => ArchiveCondition | undefined;
  readonly clock: Clock;
}

/** The backlog of a network. */
type NetworkBacklog = Backlog & { readonly network: string };

export interface HistoryState {
  readonly backlogs: readonly NetworkBacklog[];
  /** Until Redis is full at the rate of now, where the archive is behind and the rate is known. */
  readonly memoryHoursLeft: number | undefined;
}

const KEPT_MS = 1000;
/** Settling never waits for the archive; a restart takes less than this. */
const LAGGING_MS = 60_000;

/** How far the archive is behind. Settling never waits for it, but what waits fills Redis. */
export class HistoryHealth extends FeatureHealth {
  readonly name = 'history';
  readonly #state: CachedPromise<HistoryState>;
  readonly #trend = new MemoryTrend();

  constructor(private readonly options: HistoryHealthOptions) {
    super();
    this.#state = new CachedPromise(
      () => this.#look(),
      KEPT_MS,
      () => options.clock.steady(),
    );
  }

  /** @throws RedisUnavailableError */
  state(): Promise<HistoryState> {
    return this.#state.get();
  }

  /** The line of `/health`: up, for the deployment can settle, with what is wrong by its name. */
  async report(): Promise<HealthReport> {
    const { backlogs, memoryHoursLeft } = await this.state();
    const lagMs = Math.max(0, ...backlogs.map(({ oldestMs }) => oldestMs));
    const code = this.options.trouble() ?? (lagMs > LAGGING_MS ? 'lagging' : undefined);
    return {
      isUp: true,
      facts: {
        enabled: true,
        ...(code !== undefined && { code }),
        waiting: backlogs.reduce((sum, { entries }) => sum + entries, 0),
        lagSeconds: Math.round(lagMs / 1000),
        ...(memoryHoursLeft !== undefined && {
          memoryHoursLeft: Math.round(memoryHoursLeft * 10) / 10,
        }),
      },
    };
  }

  async #look(): Promise<HistoryState> {
    const { outbox, chainIds, redis, clock } = this.options;
    const [setUp, ...backlogs] = await Promise.all([
      redis.setUp(),
      ...chainIds.map(async (chainId) => ({
        network: caip2Of(chainId),
        ...(await outbox.backlog(chainId)),
      })),
    ]);
    const { usedMemoryBytes, maxMemoryBytes = 0 } = setUp;
    const isLagging = backlogs.some(({ oldestMs }) => oldestMs > LAGGING_MS);
    if (usedMemoryBytes !== undefined) this.#trend.note(clock.steady(), usedMemoryBytes, isLagging);
    return { backlogs, memoryHoursLeft: this.#trend.hoursLeft(maxMemoryBytes) };
  }
}

/** The same line where there is no `DATABASE_URL`. */
@Injectable()
export class NoHistory extends FeatureHealth {
  readonly name = 'history';

  constructor(logger: PinoLogger) {
    super();
    logger.info('DATABASE_URL is not set: settlements are kept in Redis only, without a history');
  }

  report(): HealthReport {
    return { isUp: true, facts: { enabled: false } };
  }
}
