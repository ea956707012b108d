import { Injectable } from '@nestjs/common';
import type { Kysely } from 'kysely';
import type { AuditEntry } from '../../settlement/ledger/audit-entry.js';
import { asked } from './database.js';
import { InjectTables } from './database.module.js';
import type { Tables } from './tables.js';

const ROWS_AT_ONCE = 500;

/** The audit log in PostgreSQL, where a trigger refuses changes of rows. */
@Injectable()
export class PostgresAudit {
  constructor(@InjectTables('archive') private readonly db: Kysely<Tables>) {}

  /**
   * Adds entries. An entry that is already there is ignored.
   *
   * @throws ArchiveError
   */
  async add(chainId: number, entries: readonly AuditEntry[]): Promise<void> {
    const rows = entries.map(({ id, at, by, action, subject }) => ({
      id,
      chain_id: chainId,
      happened_at: new Date(at),
      actor: by,
      action,
      subject,
    }));
    for (let at = 0; at < rows.length; at += ROWS_AT_ONCE) {
      await asked(
        this.db
          .insertInto('audit')
          .values(rows.slice(at, at + ROWS_AT_ONCE))
          .onConflict((conflict) => conflict.column('id').doNothing())
          .execute(),
      );
    }
  }
}
