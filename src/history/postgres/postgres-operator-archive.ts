import { type Kysely, sql } from 'kysely';
import { systemClock } from '../../platform/concurrency/clock.js';
import type { ArchivedRow } from '../archived-row.js';
import type {
  ArchivedNote,
  AuditFilter,
  AuditRow,
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
import { differencesOf, differencesOfRun, lanesOf, runOf, runsBefore } from './kept-runs.js';
import { afterPlace, conditionsOf, listed, NEWEST, totalsWhere } from './settlement-sql.js';
import type { Tables } from './tables.js';
import { eventsOf, webhookStates } from './webhook-states.js';

/** {@link OperatorArchive} in PostgreSQL. */
export class PostgresOperatorArchive implements OperatorArchive {
  constructor(
    private readonly quick: Database,
    /** For sums over many rows, which take their time and none of the lists'. */
    private readonly patient: Database,
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
    // A row without its payment is of no asset.
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

function whoseOf({ payTo, payer }: SearchFilter) {
  return [
    ...(payTo === undefined ? [] : [sql`pay_to = ${bytesOf(payTo)}`]),
    ...(payer === undefined ? [] : [sql`payer = ${bytesOf(payer)}`]),
  ];
}

/** What operators did, newest first. @returns `undefined` where `before` is the id of no action. */
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
