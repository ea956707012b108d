import { Inject, Injectable, Optional } from '@nestjs/common';
import { PinoLogger } from 'nestjs-pino';
import { CachedPromise } from '../platform/concurrency/cached-promise.js';
import { Clock } from '../platform/concurrency/clock.js';
import { AppConfig } from '../platform/config/app-config.js';
import { FeatureHealth, type HealthReport } from '../platform/observability/feature-health.js';
import { RedisWatch } from '../platform/redis/redis-watch.js';
import { caip2Of } from '../protocol/payment/network.js';
import { OUTBOX } from '../settlement/ledger/ledger.module.js';
import type { Backlog, Outbox } from '../settlement/ledger/outbox.js';
import type { ArchiveCondition } from './archive.js';
import { Archiver } from './archiver.js';
import { BoundedArchive } from './bounded-archive.js';

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
@Injectable()
export class HistoryHealth extends FeatureHealth {
  readonly name = 'history';
  readonly #state: CachedPromise<HistoryState>;
  readonly #trend = new MemoryTrend();

  /** @param archiver - in processes with the role history. */
  constructor(
    @Inject(OUTBOX) private readonly outbox: Pick<Outbox, 'backlog'>,
    @Inject(RedisWatch) private readonly redis: Pick<RedisWatch, 'setUp'>,
    @Inject(BoundedArchive) private readonly archive: Pick<BoundedArchive, 'isAway'>,
    @Inject(AppConfig) private readonly config: Pick<AppConfig, 'ledgerChainIds'>,
    @Inject(Clock) private readonly clock: Pick<Clock, 'steady'>,
    @Optional() @Inject(Archiver) private readonly archiver?: Pick<Archiver, 'trouble'>,
  ) {
    super();
    this.#state = new CachedPromise(
      () => this.#look(),
      KEPT_MS,
      () => clock.steady(),
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
    const code = this.#trouble ?? (lagMs > LAGGING_MS ? 'lagging' : undefined);
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

  get #trouble(): ArchiveCondition | undefined {
    return this.archiver?.trouble ?? (this.archive.isAway ? 'database_unreachable' : undefined);
  }

  async #look(): Promise<HistoryState> {
    const { outbox, config, redis, clock } = this;
    const [setUp, ...backlogs] = await Promise.all([
      redis.setUp(),
      ...config.ledgerChainIds.map(async (chainId) => ({
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

interface Sample {
  readonly at: number;
  readonly bytes: number;
}

/** A shorter time says more of a moment than of a rate. */
const LEAST_MS = 60_000;
const HOUR_MS = 3_600_000;

/** How fast the memory of Redis grows while nothing is archived, and how long the rest of it lasts. */
class MemoryTrend {
  #first: Sample | undefined;
  #last: Sample | undefined;

  /** @param isLagging - whether the archive is behind: else what was measured is over. */
  note(at: number, bytes: number, isLagging: boolean): void {
    if (!isLagging) {
      this.#first = undefined;
      return;
    }
    this.#last = { at, bytes };
    this.#first ??= this.#last;
  }

  /** @returns `undefined` where it does not grow, or where that is not known yet. */
  hoursLeft(maxBytes: number): number | undefined {
    const [first, last] = [this.#first, this.#last];
    if (first === undefined || last === undefined || maxBytes === 0) return undefined;
    const ms = last.at - first.at;
    const grown = last.bytes - first.bytes;
    if (ms < LEAST_MS || grown <= 0) return undefined;
    return Math.max(0, ((maxBytes - last.bytes) / grown) * (ms / HOUR_MS));
  }
}
