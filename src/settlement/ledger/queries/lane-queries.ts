import { Inject, Injectable } from '@nestjs/common';
import { AppConfig } from '../../../platform/config/app-config.js';
import { LedgerConnections } from '../../../platform/redis/ledger-connections.js';
import { redisCall, runKeyedScript } from '../../../platform/redis/redis-scripts.js';
import { type Attempt, decodeAttempt } from '../../model/attempt.js';
import type { LaneStatus } from '../../model/lane-status.js';
import { laneAttemptsKey, laneStatusesKey, listKey, recordKey } from '../keys.js';
import { asList, asText, asTexts } from '../reply.js';
import { loadScript } from '../script-files.js';

/** A lane that has said nothing for this long is not counted: its process is gone. */
export const LANE_SILENT_MS = 5000;

export interface PublishedStatus extends LaneStatus {
  /** Milliseconds since the lane said so, by the clock of Redis. */
  readonly silentMs: number;
}

/**
 * What an operator can switch: a lane that is paused sends nothing new; one that retires takes only what
 * names its signer, and is offered no more.
 */
export type LaneSwitch = 'paused' | 'retiring';

/** Since when a lane is switched, and by whom. */
export interface SwitchedBy {
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** Id of the API key. */
  readonly by: string;
}

/** The queue of one chain, as the ledger counts it. */
export interface QueueStatus {
  readonly chainId: number;
  /** Settlements that wait to be signed. */
  readonly depth: number;
  /** Milliseconds the longest-waiting of them has waited; 0 when none does. */
  readonly oldestMs: number;
  /** Settlements that are not finished: those that wait, and those on their way to finality. */
  readonly live: number;
}

const READ_STATUSES = loadScript('read_statuses');

/** Requests by the hundred share one look at what the lanes say. */
const SHARED_MS = 250;

/**
 * Everything that is asked about lanes and the work they have before them. It changes nothing, and every
 * answer is bounded by the number of lanes and their windows.
 *
 * @throws RedisUnavailableError from every method.
 * Times are by the clock of Redis, which also stamped what is read.
 */
@Injectable()
export class LaneQueries {
  #shared: { readonly at: number; readonly lanes: Promise<readonly PublishedStatus[]> } | undefined;

  constructor(
    private readonly ledger: LedgerConnections,
    /** The chains whose switches are asked for. */
    @Inject(AppConfig) private readonly config: Pick<AppConfig, 'ledgerChainIds'>,
  ) {}

  /** The last status of every known lane, silent ones and treasuries too. */
  all(): Promise<readonly PublishedStatus[]> {
    const now = performance.now();
    if (this.#shared === undefined || now - this.#shared.at > SHARED_MS) {
      this.#shared = { at: now, lanes: this.#statuses() };
      this.#shared.lanes.catch(() => (this.#shared = undefined));
    }
    return this.#shared.lanes;
  }

  /** The lanes of a chain that settle and whose process spoke within {@link LANE_SILENT_MS}. */
  async live(chainId: number): Promise<readonly PublishedStatus[]> {
    return (await this.all()).filter(
      (lane) =>
        lane.chainId === chainId && lane.silentMs <= LANE_SILENT_MS && lane.treasury === undefined,
    );
  }

  /** The switches of operators, by lane, `<chainId>:<signer>`. */
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

  /** The queue of each of these chains, in their order. */
  queues(chainIds: readonly number[]): Promise<readonly QueueStatus[]> {
    return redisCall('queues', Promise.all(chainIds.map((chainId) => this.#queueOf(chainId))));
  }

  /**
   * How long settlements waited from their claim until their first transaction was stored, in
   * milliseconds. Those that are finished by now are missing from the result.
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
