import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { type Kysely, sql } from 'kysely';
import { systemClock } from '../../platform/concurrency/clock.js';
import { UNCLAIMED_CLOSED } from '../../settlement/ledger/audit-entry.js';
import type { ArchivedRow } from '../archived-row.js';
import type {
  ArchivedNote,
  AuditFilter,
  AuditRow,
  Closing,
  KeptDifference,
  LaneAccount,
  OperatorArchive,
  ReconciliationRun,
  ReportedEvent,
  SearchFilter,
  WebhookFilter,
  WebhookState,
} from '../operators/operator-archive.js';
import type {
  Grouping,
  ListedSettlement,
  Position,
  TotalRow,
} from '../sellers/settlement-reader.js';
import { PostgresWebhooks } from '../webhooks/postgres-webhooks.js';
import type { DeliveryReport } from '../webhooks/webhook.js';
import { bytesOf } from './bytea.js';
import { asked, chainIdIn, type Database } from './database.js';
import { InjectDatabase } from './database.module.js';
import { differencesOf, differencesOfRun, lanesOf, runOf, runsBefore } from './kept-runs.js';
import { afterPlace, conditionsOf, listed, NEWEST, totalsWhere } from './settlement-sql.js';
import type { Tables } from './tables.js';
import { eventsOf, webhookStates } from './webhook-states.js';

/** {@link OperatorArchive} in PostgreSQL. */
@Injectable()
export class PostgresOperatorArchive implements OperatorArchive {
  constructor(
    @InjectDatabase('operators') private readonly quick: Database,
    /** For sums over many rows, which are slow and must not take connections of the lists. */
    @InjectDatabase('operatorTotals') private readonly patient: Database,
  ) {}

  async page(
    filter: SearchFilter,
    after: Position | undefined,
    most: number,
  ): Promise<readonly ListedSettlement[]> {
    const conditions = [...whoseOf(filter), ...conditionsOf(filter), ...afterPlace(after)];
    const query = sql<ArchivedRow>`
      select * from x402.settlements where ${sql.join([sql`true`, ...conditions], sql` and `)}
      order by ${NEWEST} limit ${most}`;
    const { rows } = await asked(query.execute(this.quick.db));
    return rows.map(listed);
  }

  totals(filter: SearchFilter, grouping: Grouping, most: number): Promise<readonly TotalRow[]> {
    // A row without its payment has no asset.
    const conditions = [sql`asset is not null`, ...whoseOf(filter), ...conditionsOf(filter)];
    return totalsWhere(this.patient, conditions, grouping, most);
  }

  async note(id: string): Promise<ArchivedNote | undefined> {
    const bytes = Buffer.from(id, 'base64url');
    const { db } = this.quick;
    const row = await asked(
      db
        .selectFrom('settlements')
        .select(['archived_at', 'is_told', 'is_kept'])
        .where('id', '=', bytes)
        .where('claimed_at', '=', (select) =>
          select.selectFrom('settlement_ids').select('claimed_at').where('id', '=', bytes),
        )
        .executeTakeFirst(),
    );
    return row && { archivedAt: row.archived_at, isTold: row.is_told, isKept: row.is_kept };
  }

  closeUnclaimed({ id, by, at }: Closing): Promise<boolean> {
    const bytes = Buffer.from(id, 'base64url');
    const noted = { action: UNCLAIMED_CLOSED, subject: id };
    // The connections of operators are read-only, except in transactions that write.
    const writing = this.quick.db.transaction().setAccessMode('read write');
    return asked(
      writing.execute(async (db) => {
        const closed = await db
          .updateTable('settlements')
          .set({ unclaimed_at: null, archived_at: sql<Date>`now()` })
          .where('id', '=', bytes)
          .where('claimed_at', '=', (select) =>
            select.selectFrom('settlement_ids').select('claimed_at').where('id', '=', bytes),
          )
          .where('is_paid', '=', true)
          .where('sale', '=', 'open')
          .where('unclaimed_at', 'is not', null)
          .returning('chain_id')
          .executeTakeFirst();
        if (closed !== undefined) {
          const { chain_id } = closed;
          const row = { id: randomUUID(), chain_id, happened_at: at, actor: by, ...noted };
          await db.insertInto('audit').values(row).execute();
          return true;
        }
        const before = db.selectFrom('audit').select('id');
        const { action, subject } = noted;
        const same = before.where('action', '=', action).where('subject', '=', subject).limit(1);
        return (await same.executeTakeFirst()) !== undefined;
      }),
    );
  }

  webhooks(filter: WebhookFilter, most: number): Promise<readonly WebhookState[]> {
    return asked(webhookStates(this.quick.db, filter, most));
  }

  deliveries(
    webhookId: string,
    before: string | undefined,
    most: number,
  ): Promise<readonly DeliveryReport[] | undefined> {
    const store = new PostgresWebhooks(this.quick.db, systemClock);
    return store.deliveries({ id: webhookId }, most, before);
  }

  eventsOf(settlementId: string, most: number): Promise<readonly ReportedEvent[]> {
    return asked(eventsOf(this.quick.db, Buffer.from(settlementId, 'base64url'), most));
  }

  runs(
    chainId: number | undefined,
    before: string | undefined,
    most: number,
  ): Promise<readonly ReconciliationRun[]> {
    return asked(runsBefore(this.quick.db, { chainId, before, most }));
  }

  run(id: string): Promise<ReconciliationRun | undefined> {
    return asked(runOf(this.quick.db, id));
  }

  lanesOf(runId: string, most: number): Promise<readonly LaneAccount[]> {
    return asked(lanesOf(this.quick.db, runId, most));
  }

  differencesIn(runId: string, after: number, most: number): Promise<readonly KeptDifference[]> {
    return asked(differencesOfRun(this.quick.db, { runId, after, most }));
  }

  differencesOf(settlementId: string, most: number): Promise<readonly KeptDifference[]> {
    return asked(differencesOf(this.quick.db, Buffer.from(settlementId, 'base64url'), most));
  }

  actions(
    filter: AuditFilter,
    before: string | undefined,
    most: number,
  ): Promise<readonly AuditRow[] | undefined> {
    return asked(auditRows(this.quick.db, filter, before, most));
  }
}

function whoseOf({ payTo, payer, leastAmount }: SearchFilter) {
  return [
    ...(leastAmount === undefined
      ? []
      : [sql`coalesce(settled_amount, amount) >= ${leastAmount}::numeric`]),
    ...(payTo === undefined ? [] : [sql`pay_to = ${bytesOf(payTo)}`]),
    ...(payer === undefined ? [] : [sql`payer = ${bytesOf(payer)}`]),
  ];
}

/**
 * Actions of operators, newest first.
 *
 * @returns `undefined` if `before` is not the id of an action.
 */
export async function auditRows(
  db: Kysely<Tables>,
  filter: AuditFilter,
  before: string | undefined,
  most: number,
): Promise<readonly AuditRow[] | undefined> {
  const place = before === undefined ? undefined : await placeOf(db, before);
  if (before !== undefined && place === undefined) return undefined;
  const { chainId, by, subject, from, to } = filter;
  let query = db
    .selectFrom('audit')
    .select(['id', 'chain_id', 'happened_at', 'actor', 'action', 'subject', 'reason']);
  if (chainId !== undefined) query = query.where('chain_id', '=', chainId);
  if (by !== undefined) query = query.where('actor', '=', by);
  if (subject !== undefined) query = query.where('subject', '=', subject);
  if (from !== undefined) query = query.where('happened_at', '>=', from);
  if (to !== undefined) query = query.where('happened_at', '<', to);
  if (place !== undefined) {
    query = query.where(sql<boolean>`(happened_at, id) < (${place}::timestamptz, ${before}::uuid)`);
  }
  const rows = await query
    .orderBy('happened_at', 'desc')
    .orderBy('id', 'desc')
    .limit(most)
    .execute();
  return rows.map((row) => ({
    chainId: row.chain_id === null ? undefined : chainIdIn(row.chain_id),
    id: row.id,
    at: row.happened_at,
    by: row.actor,
    action: row.action,
    subject: row.subject,
    reason: row.reason ?? undefined,
  }));
}

async function placeOf(db: Kysely<Tables>, id: string): Promise<Date | undefined> {
  const row = await db
    .selectFrom('audit')
    .select('happened_at')
    .where('id', '=', id)
    .executeTakeFirst();
  return row?.happened_at;
}
