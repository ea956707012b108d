import type { Redis } from 'ioredis';
import type { LaneStatus } from '../../model/lane-status.js';
import { runKeyedScript } from '../../../platform/redis/redis-scripts.js';
import { laneBoardKey } from '../keys.js';
import { asList, asText, asTexts } from '../reply.js';
import { loadScript } from '../script-files.js';

const SCRIPTS = { publish: loadScript('publish_status'), read: loadScript('read_statuses') };

/** A lane that has said nothing for this long is not counted: its process is gone. */
export const LANE_SILENT_MS = 5000;
/** Requests by the hundred share one look. */
const SHARED_MS = 250;

export interface PublishedStatus extends LaneStatus {
  /** Milliseconds since the lane said so, by the clock of Redis. */
  readonly silentMs: number;
}

/** What the lanes of the whole deployment last said of themselves. */
export class LaneBoard {
  #shared: { readonly at: number; readonly lanes: Promise<readonly PublishedStatus[]> } | undefined;

  constructor(private readonly redis: Redis) {}

  /** Tells the other processes what a lane is and can. */
  async publish(status: LaneStatus): Promise<void> {
    await runKeyedScript(
      this.redis,
      SCRIPTS.publish,
      [laneBoardKey()],
      [status.lane, JSON.stringify(status)],
    );
  }

  /** @throws RedisUnavailableError */
  async live(chainId: number): Promise<readonly PublishedStatus[]> {
    return (await this.all()).filter(
      (lane) => lane.chainId === chainId && lane.silentMs <= LANE_SILENT_MS,
    );
  }

  /** Every lane known, silent ones too. */
  all(): Promise<readonly PublishedStatus[]> {
    const now = performance.now();
    if (this.#shared === undefined || now - this.#shared.at > SHARED_MS) {
      this.#shared = { at: now, lanes: this.#read() };
      this.#shared.lanes.catch(() => (this.#shared = undefined));
    }
    return this.#shared.lanes;
  }

  async #read(): Promise<readonly PublishedStatus[]> {
    const [now, texts] = asList(
      await runKeyedScript(this.redis, SCRIPTS.read, [laneBoardKey()], [0]),
    );
    return asTexts(texts).map((text) => {
      const bar = text.indexOf('|');
      const silentMs = Number(asText(now)) - Number(text.slice(0, bar));
      return { ...(JSON.parse(text.slice(bar + 1)) as LaneStatus), silentMs };
    });
  }
}
