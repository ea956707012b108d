import { Injectable } from '@nestjs/common';
import { UNCLAIMED_CLOSED } from '../audit-entry.js';
import { AuditTrail, NOTED_MOST } from '../audit-trail.js';
import { auditKey, recordKey } from '../keys.js';
import { LedgerScripts } from '../ledger-scripts.js';
import { loadScript } from '../script-files.js';
import type { SwitchedBy } from './lane-queries.js';

const CLOSE = loadScript('close_unclaimed');

/**
 * Removes payments from the list of paid and undelivered ones, for an operator who delivered or refunded them by
 * hand. Their sale stays open.
 *
 * @throws RedisUnavailableError
 */
@Injectable()
export class UnclaimedList {
  constructor(
    private readonly scripts: LedgerScripts,
    private readonly audit: AuditTrail,
  ) {}

  /** @returns whether it was on the list, or was closed before; `undefined` if the ledger has no record of it. */
  async close(chainId: number, id: string, { at, by }: SwitchedBy): Promise<boolean | undefined> {
    const entry = this.audit.entryOf({ at, by, action: UNCLAIMED_CLOSED, subject: id });
    const closed = await this.scripts.runAgain(chainId, {
      script: CLOSE,
      keys: [recordKey(chainId, id), auditKey(chainId)],
      args: [entry ?? '', NOTED_MOST],
    });
    return closed === -1 ? undefined : closed === 1;
  }
}
