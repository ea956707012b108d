import { Injectable } from '@nestjs/common';
import { AuditTrail, NOTED_MOST } from '../audit-trail.js';
import { auditKey, recordKey } from '../keys.js';
import { LedgerScripts } from '../ledger-scripts.js';
import { loadScript } from '../script-files.js';
import type { SwitchedBy } from './lane-queries.js';

const CLOSE = loadScript('close_unclaimed');

/**
 * Takes payments off the list of those that are paid and not delivered, for an operator who has delivered or refunded
 * them by hand. Their sale stays open.
 *
 * @throws RedisUnavailableError
 */
@Injectable()
export class UnclaimedList {
  constructor(
    private readonly scripts: LedgerScripts,
    private readonly audit: AuditTrail,
  ) {}

  /** @returns whether it was on the list. */
  async close(chainId: number, id: string, { at, by }: SwitchedBy): Promise<boolean> {
    const entry = this.audit.entryOf({ at, by, action: 'unclaimed_closed', subject: id });
    const closed = await this.scripts.runAgain(chainId, {
      script: CLOSE,
      keys: [recordKey(chainId, id), auditKey(chainId)],
      args: [entry ?? '', NOTED_MOST],
    });
    return closed === 1;
  }
}
