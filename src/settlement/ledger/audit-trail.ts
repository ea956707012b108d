import { randomUUID } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import type { ChainableCommander } from 'ioredis';
import { AppConfig } from '../../platform/config/app-config.js';
import { LedgerConnections } from '../../platform/redis/ledger-connections.js';
import { redisCall } from '../../platform/redis/redis-scripts.js';
import { type AuditEntry, readAuditEntry } from './audit-entry.js';
import { auditKey } from './keys.js';

/** More actions than operators take during an outage of the archive. */
export const NOTED_MOST = 10_000;

/**
 * The recent actions of operators. Each is noted in the Redis step that makes it.
 *
 * @throws RedisUnavailableError
 */
@Injectable()
export class AuditTrail {
  constructor(
    private readonly ledger: LedgerConnections,
    @Inject(AppConfig) private readonly config: Pick<AppConfig, 'history'>,
  ) {}

  /**
   * Adds the entry to the Redis transaction of the action, so that the trail has exactly the actions that happened.
   * Without a history nothing is noted.
   */
  note(
    step: ChainableCommander,
    chainId: number,
    done: Omit<AuditEntry, 'id'>,
  ): ChainableCommander {
    const entry = this.entryOf(done);
    if (entry === undefined) return step;
    return step.xadd(auditKey(chainId), 'MAXLEN', '~', NOTED_MOST, '*', 'entry', entry);
  }

  /** The entry for a script that notes it; `undefined` without a history. */
  entryOf(done: Omit<AuditEntry, 'id'>): string | undefined {
    if (this.config.history === undefined) return undefined;
    const entry: AuditEntry = { id: randomUUID(), ...done };
    return JSON.stringify(entry);
  }

  /** Changes with every entry; `undefined` for an empty trail. */
  async newest(chainId: number): Promise<string | undefined> {
    const newest = this.ledger.of(chainId).xrevrange(auditKey(chainId), '+', '-', 'COUNT', 1);
    const last = await redisCall('audit', newest);
    if (last.length === 0) return undefined;
    return last.map(([entry, fields]) => `${entry} ${fields.join(' ')}`).join(' ');
  }

  /** All stored entries, oldest first. */
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
