import { Inject, Injectable } from '@nestjs/common';
import { AppConfig } from '../../../platform/config/app-config.js';
import { LedgerConnections } from '../../../platform/redis/ledger-connections.js';
import { redisCall, runKeyedScript } from '../../../platform/redis/redis-scripts.js';
import { type Attempt, decodeAttempt } from '../../model/attempt.js';
import type { LaneStatus } from '../../model/lane-status.js';
import { laneAttemptsKey, laneStatusesKey, listKey, recordKey } from '../keys.js';
import { asList, asText, asTexts } from '../reply.js';
import { loadScript } from '../script-files.js';

/** A lane that is silent for this long does not count any more, because its process is gone. */
export const LANE_SILENT_MS = 5000;

export interface PublishedStatus extends LaneStatus {
  /** Milliseconds since the report of the lane, by the clock of Redis. */
  readonly silentMs: number;
}

/**
 * Switches of operators: a paused lane sends nothing new; a retiring lane takes only payments that name its signer,
 * and is not offered any more.
 */
export type LaneSwitch = 'paused' | 'retiring';

/** The time and the operator of a switch. */
export interface SwitchedBy {
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** Id of the API key. */
  readonly by: string;
}

/** The queue of one chain, by the counts of the ledger. */
export interface QueueStatus {
  readonly chainId: number;
  /** Settlements that wait to be signed. */
  readonly depth: number;
  /** Milliseconds since the claim of the oldest one; 0 without any. */
  readonly oldestMs: number;
  /** Unfinished settlements: queued or on their way to finality. */
  readonly live: number;
}

const READ_STATUSES = loadScript('read_statuses');

/** Hundreds of requests share one read of the reports of the lanes. */
const SHARED_MS = 250;

/**
 * Queries about lanes and their queues, without side effects. The size of every answer is bounded by the lanes and
 * their windows. Times are by the clock of Redis, which also stamped the data.
 *
 * @throws RedisUnavailableError from every method.
 */
@Injectable()
export class LaneQueries {
  #shared: { readonly at: number; readonly lanes: Promise<readonly PublishedStatus[]> } | undefined;

  constructor(
    private readonly ledger: LedgerConnections,
    /** The chains whose switches are read. */
    @Inject(AppConfig) private readonly config: Pick<AppConfig, 'ledgerChainIds'>,
  ) {}

  /** The last status of every known lane, with silent lanes and treasuries. */
  all(): Promise<readonly PublishedStatus[]> {
    const now = performance.now();
    if (this.#shared === undefined || now - this.#shared.at > SHARED_MS) {
      this.#shared = { at: now, lanes: this.#statuses() };
      this.#shared.lanes.catch(() => (this.#shared = undefined));
    }
    return this.#shared.lanes;
  }

  /** The settling lanes of a chain with a report within {@link LANE_SILENT_MS}. */
  async live(chainId: number): Promise<readonly PublishedStatus[]> {
    return (await this.all()).filter(
      (lane) =>
        lane.chainId === chainId && lane.silentMs <= LANE_SILENT_MS && lane.treasury === undefined,
    );
  }

  /** The switches of operators by lane (`<chainId>:<signer>`). */
  async switched(which: LaneSwitch): Promise<ReadonlyMap<string, SwitchedBy>> {
    const switched = await redisCall(
      which,
      Promise.all(
        this.config.ledgerChainIds.map(async (chainId) => {
          const all = await this.ledger.of(chainId).hgetall(listKey(chainId, which));
          return Object.entries(all).map(
            ([signer, text]) => [`${chainId}:${signer}`, JSON.parse(text) as SwitchedBy] as const,
          );
        }),
      ),
    );
    return new Map(switched.flat());
  }

  /** The queues of these chains, in their order. */
  queues(chainIds: readonly number[]): Promise<readonly QueueStatus[]> {
    return redisCall('queues', Promise.all(chainIds.map((chainId) => this.#queueOf(chainId))));
  }

  /**
   * Milliseconds from the claim of settlements to their first stored transaction. Finished settlements are missing
   * from the result.
   */
  async waitsMs(chainId: number, ids: readonly string[]): Promise<readonly number[]> {
    const times = await redisCall(
      'waits',
      Promise.all(
        ids.map((id) => {
          return this.ledger.of(chainId).hmget(recordKey(chainId, id), 't_claimed', 't_allocated');
        }),
      ),
    );
    return times.flatMap(([claimed, allocated]) =>
      claimed == null || allocated == null ? [] : [Number(allocated) - Number(claimed)],
    );
  }

  /** The attempts that a lane has in flight, by account nonce. */
  async attempts(chainId: number, lane: string): Promise<readonly Attempt[]> {
    const texts = await redisCall(
      'attempts',
      this.ledger.of(chainId).hvals(laneAttemptsKey(chainId, lane)),
    );
    return texts.map(decodeAttempt).sort((a, b) => a.accountNonce - b.accountNonce);
  }

  async #statuses(): Promise<readonly PublishedStatus[]> {
    const [now, texts] = asList(
      await runKeyedScript(this.ledger.shared, READ_STATUSES, [laneStatusesKey()], [0]),
    );
    return asTexts(texts).map((text) => {
      const bar = text.indexOf('|');
      const silentMs = Number(asText(now)) - Number(text.slice(0, bar));
      return { ...(JSON.parse(text.slice(bar + 1)) as LaneStatus), silentMs };
    });
  }

  async #queueOf(chainId: number): Promise<QueueStatus> {
    const redis = this.ledger.of(chainId);
    const [time, depth, [, oldest], live] = await Promise.all([
      redis.time(),
      redis.zcard(listKey(chainId, 'queued')),
      redis.zrange(listKey(chainId, 'queued'), '0', '0', 'WITHSCORES'),
      redis.zcard(listKey(chainId, 'live')),
    ]);
    const now = Number(time[0]) * 1000 + Number(time[1]) / 1000;
    const oldestMs = oldest === undefined ? 0 : Math.max(0, Math.round(now - Number(oldest)));
    return { chainId, depth, oldestMs, live };
  }
}
