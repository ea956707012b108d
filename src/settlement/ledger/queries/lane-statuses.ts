import { Inject, Injectable } from '@nestjs/common';
import type { SharedRedis } from '../../../platform/redis/ledger-connections.js';
import { LEDGER_REDIS } from '../../../platform/redis/redis.module.js';
import { runKeyedScript } from '../../../platform/redis/redis-scripts.js';
import type { LaneStatus } from '../../model/lane-status.js';
import { laneStatusesKey } from '../keys.js';
import { loadScript } from '../script-files.js';

const PUBLISH_STATUS = loadScript('publish_status');

/**
 * Where lanes tell the whole deployment what they are and can.
 *
 * @throws RedisUnavailableError from every method.
 */
@Injectable()
export class LaneStatuses {
  constructor(@Inject(LEDGER_REDIS) private readonly redis: SharedRedis) {}

  /** Tells the other processes what a lane is and can. */
  async publish(status: LaneStatus): Promise<void> {
    await runKeyedScript(
      this.redis,
      PUBLISH_STATUS,
      [laneStatusesKey()],
      [status.lane, JSON.stringify(status)],
    );
  }
}
