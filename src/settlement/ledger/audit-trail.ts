import { Injectable } from '@nestjs/common';
import { LedgerConnections } from '../../platform/redis/ledger-connections.js';
import { redisCall } from '../../platform/redis/redis-scripts.js';
import { type AuditEntry, readAuditEntry } from './audit-entry.js';
import { auditKey } from './keys.js';

/** What operators did lately, noted in the step that did it. @throws RedisUnavailableError */
@Injectable()
export class AuditTrail {
  constructor(private readonly ledger: LedgerConnections) {}

  /** Changes with every entry; `undefined` where there is none. */
  async newest(chainId: number): Promise<string | undefined> {
    const newest = this.ledger.of(chainId).xrevrange(auditKey(chainId), '+', '-', 'COUNT', 1);
    const last = await redisCall('audit', newest);
    if (last.length === 0) return undefined;
    return last.map(([entry, fields]) => `${entry} ${fields.join(' ')}`).join(' ');
  }

  /** All that are kept, oldest first. */
  async all(chainId: number): Promise<readonly AuditEntry[]> {
    const entries = await redisCall(
      'audit',
      this.ledger.of(chainId).xrange(auditKey(chainId), '-', '+'),
    );
    return entries
      .map(([, [, text]]) => (text === undefined ? undefined : readAuditEntry(text)))
      .filter((entry) => entry !== undefined)
      .sort((a, b) => a.at - b.at);
  }
}
