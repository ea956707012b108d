import type { Redis } from 'ioredis';
import { ledgerCall } from '../redis/redis-scripts.js';
import { pausedLanesKey, workChannel } from './keys.js';

/** Since when a lane is paused, and by whom. */
export interface LanePause {
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** Id of the API key. */
  readonly by: string;
}

/**
 * Lanes that an operator has paused. The scripts that take work and allocate nonces read the same
 * record, so a pause holds from the moment it is written, whoever has the lane, and until it is taken
 * back.
 *
 * @throws LedgerUnavailableError from every method.
 */
export class LanePauses {
  constructor(private readonly redis: Redis) {}

  async all(): Promise<ReadonlyMap<string, LanePause>> {
    const all = await ledgerCall('pauses', this.redis.hgetall(pausedLanesKey()));
    return new Map(
      Object.entries(all).map(([lane, text]) => [lane, JSON.parse(text) as LanePause]),
    );
  }

  /** A lane that is paused already stays paused as it is. */
  async pause(lane: string, pause: LanePause): Promise<void> {
    await ledgerCall('pause', this.redis.hsetnx(pausedLanesKey(), lane, JSON.stringify(pause)));
  }

  async resume(lane: string, chainId: number): Promise<void> {
    await ledgerCall(
      'resume',
      this.redis.multi().hdel(pausedLanesKey(), lane).publish(workChannel(chainId), '').exec(),
    );
  }
}
