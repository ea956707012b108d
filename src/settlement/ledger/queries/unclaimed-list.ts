import { Injectable } from '@nestjs/common';
import { LedgerConnections } from '../../../platform/redis/ledger-connections.js';
import { redisCall, runTransaction } from '../../../platform/redis/redis-scripts.js';
import { AuditTrail } from '../audit-trail.js';
import { listKey } from '../keys.js';
import type { SwitchedBy } from './lane-queries.js';

/**
 * Takes payments off the list of those that are paid and not delivered, for an operator who has delivered or refunded
 * them by hand. Their sale stays open.
 *
 * @throws RedisUnavailableError
 */
@Injectable()
export class UnclaimedList {
  constructor(
    private readonly ledger: LedgerConnections,
    private readonly audit: AuditTrail,
  ) {}

  /** @returns whether it was on the list. */
  async close(chainId: number, id: string, { at, by }: SwitchedBy): Promise<boolean> {
    const redis = this.ledger.of(chainId);
    const list = listKey(chainId, 'unclaimed');
    if ((await redisCall('unclaimed', redis.zscore(list, id))) === null) return false;
    const closing = redis.multi().zrem(list, id);
    const entry = { at, by, action: 'unclaimed_closed', subject: id };
    await runTransaction('close_unclaimed', this.audit.note(closing, chainId, entry));
    return true;
  }
}
