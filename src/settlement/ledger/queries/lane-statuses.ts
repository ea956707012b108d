import { Inject, Injectable } from '@nestjs/common';
import type { SharedRedis } from '../../../platform/redis/ledger-connections.js';
import { LEDGER_REDIS } from '../../../platform/redis/redis.module.js';
import { runKeyedScript } from '../../../platform/redis/redis-scripts.js';
import type { LaneStatus } from '../../model/lane-status.js';
import { laneStatusesKey } from '../keys.js';
import { loadScript } from '../script-files.js';

const PUBLISH_STATUS = loadScript('publish_status');

/**
 * The published status of each lane, for the whole deployment.
 *
 * @throws RedisUnavailableError from every method.
 */
@Injectable()
export class LaneStatuses {
  constructor(@Inject(LEDGER_REDIS) private readonly redis: SharedRedis) {}

  /** Publishes the status of a lane. */
  async publish(status: LaneStatus): Promise<void> {
    await runKeyedScript(
      this.redis,
      PUBLISH_STATUS,
      [laneStatusesKey()],
      [status.lane, JSON.stringify(status)],
    );
  }
}
