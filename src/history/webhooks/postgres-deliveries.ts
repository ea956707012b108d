import { Inject, Injectable } from '@nestjs/common';
import { type Kysely, sql, type Transaction } from 'kysely';
import { Clock } from '../../platform/concurrency/clock.js';
import { hexOf } from '../postgres/bytea.js';
import { asked } from '../postgres/database.js';
import { InjectTables } from '../postgres/database.module.js';
import type { Tables } from '../postgres/tables.js';
import type { DeliveryOutcome, DeliveryStore } from './delivery-store.js';
import { disabledBody } from './event-body.js';
import { addDeliveries } from './event-writer.js';
import { newEventId, webhookOf } from './rows.js';
import { CHALLENGE_EVENT, type Delivery, type DisabledReason, type Webhook } from './webhook.js';

/** An endpoint whose deliveries failed for this long is disabled. */
const FAILING_HOURS = 24;
/** Events and their deliveries are deleted after this time. */
const KEPT_DAYS = 30;
/** Events per statement, so that a statement takes less than its limit of ten seconds. */
const FORGOTTEN_AT_ONCE = 5000;

/** {@link DeliveryStore} in PostgreSQL. The clock of PostgreSQL decides what is due. */
@Injectable()
export class PostgresDeliveries implements DeliveryStore {
  constructor(
    @InjectTables('background') private readonly db: Kysely<Tables>,
    @Inject(Clock) private readonly clock: Pick<Clock, 'now'>,
  ) {}

  due(most: number): Promise<readonly string[]> {
    return asked(
      this.db
        .selectFrom('webhook_deliveries')
        .innerJoin('webhook_endpoints', 'id', 'endpoint_id')
        .select('endpoint_id')
        .distinct()
        .where('state', '=', 'waiting')
        .where(sql<boolean>`due_at <= now() and leased_until <= now() and disabled_at is null`)
        .where(sql<boolean>`(confirmed_at is not null or ${isChallenge})`)
        .limit(most)
        .execute()
        .then((rows) => rows.map((row) => row.endpoint_id)),
    );
  }

  take(id: string, holder: string, leaseMs: number): Promise<Webhook | undefined> {
    return asked(
      this.db
        .updateTable('webhook_endpoints')
        .set({ leased_by: holder, leased_until: inMs(leaseMs) })
        .where('id', '=', id)
        .where('disabled_at', 'is', null)
        .where((where) =>
          where.or([where('leased_by', '=', holder), sql<boolean>`leased_until <= now()`]),
        )
        .returningAll()
        .executeTakeFirst()
        .then((row) => row && webhookOf(row)),
    );
  }

  async release(id: string, holder: string): Promise<void> {
    await asked(
      this.db
        .updateTable('webhook_endpoints')
        .set({ leased_by: null, leased_until: sql<Date>`'-infinity'` })
        .where('id', '=', id)
        .where('leased_by', '=', holder)
        .execute(),
    );
  }

  async heads(
    { id, confirmedAt }: Pick<Webhook, 'id' | 'confirmedAt'>,
    most: number,
  ): Promise<readonly Delivery[]> {
    const rows = await asked(
      this.db
        .selectFrom('webhook_deliveries as head')
        .innerJoin('webhook_events as event', 'event.sequence', 'head.sequence')
        .select(['head.sequence', 'head.attempts', 'event.id', 'event.type', 'body', 'pay_to'])
        .where('endpoint_id', '=', id)
        .where('head.state', '=', 'waiting')
        .where(sql<boolean>`head.due_at <= now()`)
        .$if(confirmedAt === undefined, (query) => query.where('type', '=', CHALLENGE_EVENT))
        .where(
          sql<boolean>`not exists (select from x402.webhook_deliveries older
            where older.endpoint_id = head.endpoint_id and older.line = head.line
              and older.state = 'waiting' and older.sequence < head.sequence)`,
        )
        .orderBy('head.due_at')
        .orderBy('head.sequence')
        .limit(most)
        .execute(),
    );
    return rows.map(({ sequence, attempts, id: eventId, type, body, pay_to }) => ({
      sequence,
      attempts,
      eventId,
      type,
      body,
      payTo: pay_to === null ? undefined : hexOf(pay_to),
    }));
  }

  async record(id: string, sequence: string, outcome: DeliveryOutcome): Promise<void> {
    const { state, pauseMs = 0, status, problem, answer, challengedUrl } = outcome;
    const isTried = state !== 'withheld';
    await asked(
      this.db.transaction().execute(async (transaction) => {
        // The endpoint is locked before its deliveries, in the order of a deletion.
        if (challengedUrl !== undefined) {
          const isOfUrl = await noteChallenge(
            transaction,
            id,
            challengedUrl,
            state === 'delivered',
          );
          if (!isOfUrl) return;
        }
        if (isTried) await noteHealth(transaction, id, state === 'delivered');
        await transaction
          .updateTable('webhook_deliveries')
          .set((now) => ({
            state,
            attempts: now('attempts', '+', isTried ? 1 : 0),
            ...(isTried && { tried_at: sql<Date>`now()` }),
            due_at: inMs(pauseMs),
            status: status ?? null,
            problem: problem ?? null,
            answer: answer ?? null,
          }))
          .where('endpoint_id', '=', id)
          .where('sequence', '=', sequence)
          // Another process may have delivered it meanwhile.
          .where('state', '=', 'waiting')
          .execute();
        if (state === 'waiting') {
          await sql`
            update x402.webhook_deliveries behind set due_at = head.due_at
            from x402.webhook_deliveries head
            where head.endpoint_id = ${id} and head.sequence = ${sequence}
              and behind.endpoint_id = head.endpoint_id and behind.line = head.line
              and behind.state = 'waiting' and behind.sequence > head.sequence
              and behind.due_at < head.due_at`.execute(transaction);
        }
      }),
    );
  }

  disable(id: string, reason: Exclude<DisabledReason, 'owner'>): Promise<boolean> {
    return asked(
      this.db.transaction().execute(async (transaction) => {
        const disabled = await transaction
          .updateTable('webhook_endpoints')
          .set({ disabled_at: sql<Date>`now()`, disabled_reason: reason })
          .where('id', '=', id)
          .where('disabled_at', 'is', null)
          .$if(reason === 'failing', (update) =>
            update.where(
              sql<boolean>`failing_since <= now() - make_interval(hours => ${FAILING_HOURS})`,
            ),
          )
          .returningAll()
          .executeTakeFirst();
        if (disabled === undefined) return false;
        // Notifies the other endpoints of the owner that subscribe to `webhook.disabled`.
        const others = await transaction
          .selectFrom('webhook_endpoints')
          .select('id')
          .where('owner', '=', disabled.owner)
          .where('disabled_at', 'is', null)
          .where(sql<boolean>`'webhook.disabled' = any (event_types)`)
          .forKeyShare()
          .execute();
        const line = Buffer.from(id);
        const { sequence } = await transaction
          .insertInto('webhook_events')
          .values({
            id: newEventId(),
            type: 'webhook.disabled',
            line,
            pay_to: null,
            body: disabledBody(id, disabled.url, reason, new Date(this.clock.now())),
          })
          .returning('sequence')
          .executeTakeFirstOrThrow();
        await addDeliveries(
          transaction,
          others.map((other) => ({ endpoint_id: other.id, sequence, line })),
        );
        return true;
      }),
    );
  }

  async forget(): Promise<boolean> {
    const { numAffectedRows = 0n } = await asked(
      sql`delete from x402.webhook_events where sequence in (
          select sequence from x402.webhook_events
          where created_at < now() - make_interval(days => ${KEPT_DAYS})
          order by created_at limit ${FORGOTTEN_AT_ONCE})`.execute(this.db),
    );
    return numAffectedRows >= BigInt(FORGOTTEN_AT_ONCE);
  }

  async nextInMs(id: string): Promise<number | undefined> {
    const row = await asked(
      this.db
        .selectFrom('webhook_deliveries')
        .innerJoin('webhook_endpoints', 'id', 'endpoint_id')
        .select(sql<string | null>`extract(epoch from min(due_at) - now()) * 1000`.as('ms'))
        .where('endpoint_id', '=', id)
        .where('state', '=', 'waiting')
        .where(sql<boolean>`(confirmed_at is not null or ${isChallenge})`)
        .executeTakeFirst(),
    );
    return row?.ms === null || row?.ms === undefined ? undefined : Math.max(0, Number(row.ms));
  }
}

/** Whether a delivery is the challenge, because an unconfirmed endpoint gets nothing else. */
const isChallenge = sql<boolean>`exists (select from x402.webhook_events event
  where event.sequence = webhook_deliveries.sequence and event.type = ${CHALLENGE_EVENT})`;

const inMs = (ms: number) => sql<Date>`now() + make_interval(secs => ${ms / 1000})`;

/** @returns whether the endpoint still has this URL. */
async function noteChallenge(
  transaction: Transaction<Tables>,
  id: string,
  url: string,
  isMet: boolean,
): Promise<boolean> {
  const endpoint = await transaction
    .updateTable('webhook_endpoints')
    .set({ confirmed_at: isMet ? sql<Date>`now()` : sql<Date | null>`confirmed_at` })
    .where('id', '=', id)
    .where('url', '=', url)
    .returning('id')
    .executeTakeFirst();
  return endpoint !== undefined;
}

/** Stores the time since when deliveries fail, if it changes. */
async function noteHealth(
  transaction: Transaction<Tables>,
  id: string,
  isReached: boolean,
): Promise<void> {
  await transaction
    .updateTable('webhook_endpoints')
    .set({ failing_since: isReached ? null : sql<Date>`now()` })
    .where('id', '=', id)
    .where('failing_since', isReached ? 'is not' : 'is', null)
    .execute();
}
