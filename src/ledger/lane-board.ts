import type { Redis } from 'ioredis';
import type { LaneStatus } from '../core/settlement/lane-status.js';
import { laneStatusesKey } from './keys.js';
import { ledgerCall } from '../redis/redis-scripts.js';

/** A lane that has said nothing for this long is not counted: its process is gone. */
const SILENT_MS = 5000;
/** Askers by the hundred share one look. */
const SHARED_MS = 250;

/** What the lanes of the whole deployment last said of themselves. */
export class LaneBoard {
  #shared: { readonly at: number; readonly lanes: Promise<readonly LaneStatus[]> } | undefined;

  constructor(private readonly redis: Redis) {}

  /** @throws LedgerUnavailableError */
  async live(chainId: number): Promise<readonly LaneStatus[]> {
    const earliest = Date.now() - SILENT_MS;
    return (await this.all()).filter((lane) => lane.chainId === chainId && lane.at >= earliest);
  }

  /** Every lane known, silent ones too. */
  all(): Promise<readonly LaneStatus[]> {
    const now = performance.now();
    if (this.#shared === undefined || now - this.#shared.at > SHARED_MS) {
      this.#shared = { at: now, lanes: this.#read() };
      this.#shared.lanes.catch(() => (this.#shared = undefined));
    }
    return this.#shared.lanes;
  }

  async #read(): Promise<readonly LaneStatus[]> {
    const texts = await ledgerCall('lanes', this.redis.hvals(laneStatusesKey()));
    return texts.map((text) => JSON.parse(text) as LaneStatus);
  }
}
