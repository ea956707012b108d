import { Inject, Injectable } from '@nestjs/common';
import { AppConfig } from '../../../platform/config/app-config.js';
import { LedgerConnections } from '../../../platform/redis/ledger-connections.js';
import { redisCall, runKeyedScript } from '../../../platform/redis/redis-scripts.js';
import { type Attempt, decodeAttempt } from '../../model/attempt.js';
import type { LaneStatus } from '../../model/lane-status.js';
import { laneAttemptsKey, laneStatusesKey, listKey, recordKey } from '../keys.js';
import { asList, asText, asTexts } from '../reply.js';
import { loadScript } from '../script-files.js';
import {
  LANE_SILENT_MS,
  type LaneQueries,
  type LaneSwitch,
  type PublishedStatus,
  type QueueStatus,
  type SwitchedBy,
} from './lane-queries.js';

const READ_STATUSES = loadScript('read_statuses');

/** Requests by the hundred share one look at what the lanes say. */
const SHARED_MS = 250;

/** {@link LaneQueries} in Redis. Times are by the clock of Redis, which also stamped what is read. */
@Injectable()
export class RedisLaneQueries implements LaneQueries {
  #shared: { readonly at: number; readonly lanes: Promise<readonly PublishedStatus[]> } | undefined;

  constructor(
    private readonly ledger: LedgerConnections,
    /** The chains whose switches are asked for. */
    @Inject(AppConfig) private readonly config: Pick<AppConfig, 'ledgerChainIds'>,
  ) {}

  all(): Promise<readonly PublishedStatus[]> {
    const now = performance.now();
    if (this.#shared === undefined || now - this.#shared.at > SHARED_MS) {
      this.#shared = { at: now, lanes: this.#statuses() };
      this.#shared.lanes.catch(() => (this.#shared = undefined));
    }
    return this.#shared.lanes;
  }

  async live(chainId: number): Promise<readonly PublishedStatus[]> {
    return (await this.all()).filter(
      (lane) =>
        lane.chainId === chainId && lane.silentMs <= LANE_SILENT_MS && lane.treasury === undefined,
    );
  }

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

  queues(chainIds: readonly number[]): Promise<readonly QueueStatus[]> {
    return redisCall('queues', Promise.all(chainIds.map((chainId) => this.#queueOf(chainId))));
  }

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
