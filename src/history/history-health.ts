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
  /**
   * Hours until Redis is full at the present rate. `undefined` if the archive is not behind, or the rate is not
   * known.
   */
  readonly memoryHoursLeft: number | undefined;
}

const KEPT_MS = 1000;
/** A restart of the archiver takes less than this. Settling never waits for the archive. */
const LAGGING_MS = 60_000;

/** The lag of the archive. Settling never waits for the archive, but its backlog fills Redis. */
@Injectable()
export class HistoryHealth extends FeatureHealth {
  readonly name = 'history';
  readonly #state: CachedPromise<HistoryState>;
  readonly #trend = new MemoryTrend();

  /** @param archiver - only in processes with the role history. */
  constructor(
    @Inject(OUTBOX) private readonly outbox: Pick<Outbox, 'backlog'>,
    @Inject(RedisWatch) private readonly redis: Pick<RedisWatch, 'setUp'>,
    @Inject(BoundedArchive) private readonly archive: Pick<BoundedArchive, 'isAway'>,
    @Inject(AppConfig) private readonly config: Pick<AppConfig, 'ledgerChainIds'>,
    @Inject(Clock) private readonly clock: Pick<Clock, 'steady'>,
    @Optional() @Inject(Archiver) private readonly archiver?: Pick<Archiver, 'condition'>,
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

  /** The line of `/health`: always up, because the deployment can still settle. A condition names the problem. */
  async report(): Promise<HealthReport> {
    const { backlogs, memoryHoursLeft } = await this.state();
    const lagMs = Math.max(0, ...backlogs.map(({ oldestMs }) => oldestMs));
    const code = this.#condition ?? (lagMs > LAGGING_MS ? 'lagging' : undefined);
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

  get #condition(): ArchiveCondition | undefined {
    return this.archiver?.condition ?? (this.archive.isAway ? 'database_unreachable' : undefined);
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

/** The line of `/health` without `DATABASE_URL`. */
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

/** A shorter time would measure a moment, not a rate. */
const LEAST_MS = 60_000;
const HOUR_MS = 3_600_000;

/** The growth of the memory of Redis while the archive is behind, and the time until Redis is full. */
class MemoryTrend {
  #first: Sample | undefined;
  #last: Sample | undefined;

  /** @param isLagging - whether the archive is behind; otherwise the measurement starts again. */
  note(at: number, bytes: number, isLagging: boolean): void {
    if (!isLagging) {
      this.#first = undefined;
      return;
    }
    this.#last = { at, bytes };
    this.#first ??= this.#last;
  }

  /** @returns `undefined` if the memory does not grow, or its growth is not known yet. */
  hoursLeft(maxBytes: number): number | undefined {
    const [first, last] = [this.#first, this.#last];
    if (first === undefined || last === undefined || maxBytes === 0) return undefined;
    const ms = last.at - first.at;
    const grown = last.bytes - first.bytes;
    if (ms < LEAST_MS || grown <= 0) return undefined;
    return Math.max(0, ((maxBytes - last.bytes) / grown) * (ms / HOUR_MS));
  }
}
