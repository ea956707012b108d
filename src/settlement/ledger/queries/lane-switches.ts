import { Injectable } from '@nestjs/common';
import { LedgerConnections } from '../../../platform/redis/ledger-connections.js';
import { runTransaction } from '../../../platform/redis/redis-scripts.js';
import type { AuditEntry } from '../audit-entry.js';
import { AuditTrail } from '../audit-trail.js';
import { listKey, signerOf, workChannel } from '../keys.js';
import type { LaneSwitch, SwitchedBy } from './lane-queries.js';

/**
 * Pauses and retires lanes for an operator. Scripts that take work and allocate nonces read the same record, so a
 * switch holds at once for every holder of the lane.
 *
 * @throws RedisUnavailableError from every method.
 */
@Injectable()
export class LaneSwitches {
  constructor(
    private readonly ledger: LedgerConnections,
    private readonly audit: AuditTrail,
  ) {}

  /** A lane that is already switched keeps the earlier time and API key. */
  async set(which: LaneSwitch, lane: string, chainId: number, by: SwitchedBy): Promise<void> {
    const setting = this.ledger
      .of(chainId)
      .multi()
      .hsetnx(listKey(chainId, which), signerOf(lane), JSON.stringify(by));
    await runTransaction(
      `set the lane switch ${which}`,
      this.audit.note(setting, chainId, entryOf(`lane_${which}`, lane, by)),
    );
  }

  async clear(which: LaneSwitch, lane: string, chainId: number, by: SwitchedBy): Promise<void> {
    const clearing = this.ledger
      .of(chainId)
      .multi()
      .hdel(listKey(chainId, which), signerOf(lane))
      .publish(workChannel(chainId), '');
    const entry = entryOf(`lane_not_${which}`, lane, by);
    await runTransaction(
      `clear the lane switch ${which}`,
      this.audit.note(clearing, chainId, entry),
    );
  }
}

function entryOf(action: string, subject: string, { at, by }: SwitchedBy): Omit<AuditEntry, 'id'> {
  return { at, by, action, subject };
}
