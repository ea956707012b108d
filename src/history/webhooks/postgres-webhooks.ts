import { Inject, Injectable } from '@nestjs/common';
import { type Kysely, sql, type Transaction } from 'kysely';
import { Clock } from '../../platform/concurrency/clock.js';
import { bytesOf } from '../postgres/bytea.js';
import { asked } from '../postgres/database.js';
import { InjectTables } from '../postgres/database.module.js';
import type { Tables } from '../postgres/tables.js';
import { challengeBody, testBody } from './event-body.js';
import { addDeliveries } from './event-writer.js';
import { LANE_EVENTS } from './lane-levels.js';
import { newChallenge, newEventId, newSecretName, newWebhookId, webhookOf } from './rows.js';
import {
  type AddedSecret,
  CHALLENGE_EVENT,
  type DeliveryReport,
  REPLAY_MAX,
  type Replayed,
  type ReplayFrom,
  SECRETS_MAX,
  type Webhook,
  type WebhookChange,
  type WebhookFields,
  WEBHOOKS_MAX,
} from './webhook.js';

/**
 * Webhooks of owners. An owner never sees those of another owner.
 *
 * @throws ArchiveError from every method.
 */
@Injectable()
export class PostgresWebhooks {
  constructor(
    @InjectTables('background') private readonly db: Kysely<Tables>,
    @Inject(Clock) private readonly clock: Pick<Clock, 'now'>,
  ) {}

  /** Creates a webhook, and queues the challenge for its URL. */
  create(owner: string, fields: WebhookFields): Promise<Webhook | 'too_many'> {
    return asked(
      this.db.transaction().execute(async (transaction) => {
        // Creations of one owner are serialized, so that two at once cannot exceed the limit.
        await sql`select pg_advisory_xact_lock(hashtextextended(${`webhooks of ${owner}`}, 0))`.execute(
          transaction,
        );
        const { count } = await transaction
          .selectFrom('webhook_endpoints')
          .select((select) => select.fn.countAll().as('count'))
          .where('owner', '=', owner)
          .executeTakeFirstOrThrow();
        if (Number(count) >= WEBHOOKS_MAX) return 'too_many';
        const row = await transaction
          .insertInto('webhook_endpoints')
          .values({
            id: newWebhookId(),
            owner,
            secret_names: [newSecretName()],
            url: fields.url,
            description: fields.description,
            payees: fields.payees.map(bytesOf),
            event_types: [...fields.events],
          })
          .returningAll()
          .executeTakeFirstOrThrow();
        await this.#challenge(transaction, row.id);
        return webhookOf(row);
      }),
    );
  }

  async list(owner: string): Promise<readonly Webhook[]> {
    const rows = await asked(this.#of(owner).orderBy('created_at').orderBy('id').execute());
    return rows.map(webhookOf);
  }

  async find(owner: string, id: string): Promise<Webhook | undefined> {
    const row = await asked(this.#of(owner).where('id', '=', id).executeTakeFirst());
    return row && webhookOf(row);
  }

  /** A new URL gets a challenge. So does an unconfirmed webhook that is enabled. */
  async change(owner: string, id: string, change: WebhookChange): Promise<Webhook | undefined> {
    const { url, description, payees, events, enabled } = change;
    const row = await asked(
      this.db.transaction().execute(async (transaction) => {
        const before = await transaction
          .selectFrom('webhook_endpoints')
          .select(['url', 'confirmed_at', 'disabled_at'])
          .where('owner', '=', owner)
          .where('id', '=', id)
          .forUpdate()
          .executeTakeFirst();
        if (before === undefined) return undefined;
        const isMoved = url !== undefined && url !== before.url;
        const changed = await transaction
          .updateTable('webhook_endpoints')
          .set({
            // An update needs at least one column.
            owner,
            ...(isMoved && { url, confirmed_at: null, failing_since: null }),
            ...(description !== undefined && { description }),
            ...(payees !== undefined && { payees: payees.map(bytesOf) }),
            ...(events !== undefined && { event_types: [...events] }),
            ...(enabled === true && {
              disabled_at: null,
              disabled_reason: null,
              failing_since: null,
            }),
            ...(enabled === false && {
              disabled_at: sql<Date>`coalesce(disabled_at, now())`,
              disabled_reason: sql<string>`coalesce(disabled_reason, 'owner')`,
            }),
          })
          .where('id', '=', id)
          .returningAll()
          .executeTakeFirst();
        const isAskedAgain =
          enabled === true && before.confirmed_at === null && before.disabled_at !== null;
        if (isMoved || isAskedAgain) await this.#challenge(transaction, id);
        return changed;
      }),
    );
    return row && webhookOf(row);
  }

  async remove(owner: string, id: string): Promise<boolean> {
    const { numDeletedRows } = await asked(
      this.db
        .deleteFrom('webhook_endpoints')
        .where('owner', '=', owner)
        .where('id', '=', id)
        .executeTakeFirstOrThrow(),
    );
    return numDeletedRows > 0n;
  }

  async addSecret(owner: string, id: string): Promise<AddedSecret | 'too_many' | undefined> {
    const name = newSecretName();
    const added = await asked(
      this.db
        .updateTable('webhook_endpoints')
        .set({ secret_names: sql<string[]>`array_append(secret_names, ${name})` })
        .where('owner', '=', owner)
        .where('id', '=', id)
        .where(sql<boolean>`cardinality(secret_names) < ${SECRETS_MAX}`)
        .returning('id')
        .executeTakeFirst(),
    );
    if (added !== undefined) return { name };
    return (await this.find(owner, id)) === undefined ? undefined : 'too_many';
  }

  async removeSecret(
    owner: string,
    id: string,
    name: string,
  ): Promise<'removed' | 'last' | undefined> {
    const removed = await asked(
      this.db
        .updateTable('webhook_endpoints')
        .set({ secret_names: sql<string[]>`array_remove(secret_names, ${name})` })
        .where('owner', '=', owner)
        .where('id', '=', id)
        .where(sql<boolean>`${name} = any (secret_names) and cardinality(secret_names) > 1`)
        .returning('id')
        .executeTakeFirst(),
    );
    if (removed !== undefined) return 'removed';
    const webhook = await this.find(owner, id);
    return webhook?.secretNames.includes(name) === true ? 'last' : undefined;
  }

  /**
   * Queues a test event; an unconfirmed webhook gets a new challenge instead.
   *
   * @returns the id of the event.
   */
  test({ id, confirmedAt }: Webhook): Promise<string> {
    return asked(
      this.db
        .transaction()
        .execute((transaction) =>
          confirmedAt === undefined
            ? this.#challenge(transaction, id)
            : addEvent(transaction, id, 'webhook.test', testBody(id, this.#date())),
        ),
    );
  }

  /** Replaces waiting challenges, so that an earlier URL is not contacted any more. */
  async #challenge(transaction: Transaction<Tables>, id: string): Promise<string> {
    // The endpoint is locked before its deliveries, in the order of a deletion, so that the two cannot deadlock.
    await transaction
      .selectFrom('webhook_endpoints')
      .select('id')
      .where('id', '=', id)
      .forNoKeyUpdate()
      .execute();
    await sql`
      delete from x402.webhook_deliveries delivery using x402.webhook_events event
      where endpoint_id = ${id} and state = 'waiting'
        and event.sequence = delivery.sequence and event.type = ${CHALLENGE_EVENT}`.execute(
      transaction,
    );
    const body = challengeBody(id, newChallenge(), this.#date());
    return addEvent(transaction, id, CHALLENGE_EVENT, body);
  }

  /** @returns `undefined` for an unknown event. */
  replay(webhook: Webhook, from: ReplayFrom): Promise<Replayed | undefined> {
    return asked(
      this.db.transaction().execute(async (transaction) => {
        // Locks the endpoint first, because a deletion locks it first too.
        await transaction
          .selectFrom('webhook_endpoints')
          .select('id')
          .where('id', '=', webhook.id)
          .forKeyShare()
          .execute();
        const start = await startOf(transaction, from);
        if (start === undefined) return undefined;
        const payees = webhook.payees.filter((payee) => from.payees.has(payee)).map(bytesOf);
        const ofLanes = from.isOperator ? LANE_EVENTS : [];
        const found = await transaction
          .selectFrom('webhook_events')
          .select(['sequence', 'id', 'line'])
          .where('sequence', '>', start.after)
          .$if(start.since !== undefined, (query) =>
            query.where('created_at', '>=', start.since ?? new Date(0)),
          )
          .where((event) =>
            event.or([
              sql<boolean>`pay_to = any (${payees}::bytea[])`,
              sql<boolean>`pay_to is null and type = any (${[...ofLanes]}::text[])`,
            ]),
          )
          .where('type', 'in', [...webhook.events])
          .orderBy('sequence')
          .limit(REPLAY_MAX + 1)
          .execute();
        const events = found.slice(0, REPLAY_MAX);
        // Deliveries that still wait keep their order and their pauses.
        await sql`
          update x402.webhook_deliveries set state = 'waiting', attempts = 0, due_at = now()
          where endpoint_id = ${webhook.id} and state <> 'waiting'
            and sequence = any (${events.map(({ sequence }) => sequence)}::bigint[])`.execute(
          transaction,
        );
        await addDeliveries(
          transaction,
          events.map(({ sequence, line }) => ({ endpoint_id: webhook.id, sequence, line })),
        );
        const next = found.length > REPLAY_MAX ? events.at(-1)?.id : undefined;
        return { events: events.length, next };
      }),
    );
  }

  /** Newest first. @param before - the id of an event. */
  async deliveries(
    { id }: Pick<Webhook, 'id'>,
    most: number,
    before?: string,
  ): Promise<readonly DeliveryReport[] | undefined> {
    const start = before === undefined ? undefined : await asked(sequenceOf(this.db, before));
    if (before !== undefined && start === undefined) return undefined;
    const rows = await asked(
      this.db
        .selectFrom('webhook_deliveries as delivery')
        .innerJoin('webhook_events as event', 'event.sequence', 'delivery.sequence')
        .select(['event.id', 'type', 'event.line', 'pay_to', 'state', 'attempts', 'created_at'])
        .select(['tried_at', 'due_at', 'status', 'problem', 'answer'])
        .where('endpoint_id', '=', id)
        .$if(start !== undefined, (query) => query.where('delivery.sequence', '<', start ?? '0'))
        .orderBy('delivery.sequence', 'desc')
        .limit(most)
        .execute(),
    );
    return rows.map((row) => ({
      eventId: row.id,
      type: row.type,
      state: row.state,
      attempts: row.attempts,
      ...(row.pay_to !== null && { settlementId: row.line.toString('base64url') }),
      happenedAt: row.created_at,
      ...(row.tried_at !== null && { triedAt: row.tried_at }),
      ...(row.state === 'waiting' && { dueAt: row.due_at }),
      ...(row.status !== null && { status: row.status }),
      ...(row.problem !== null && { problem: row.problem }),
      ...(row.answer !== null && { answer: row.answer }),
    }));
  }

  #date(): Date {
    return new Date(this.clock.now());
  }

  #of(owner: string) {
    return this.db.selectFrom('webhook_endpoints').selectAll().where('owner', '=', owner);
  }
}

/**
 * Adds an event for one endpoint.
 *
 * @returns its id.
 */
async function addEvent(
  transaction: Transaction<Tables>,
  endpointId: string,
  type: string,
  body: string,
): Promise<string> {
  const id = newEventId();
  const line = Buffer.from(id);
  const { sequence } = await transaction
    .insertInto('webhook_events')
    .values({ id, type, line, pay_to: null, body })
    .returning('sequence')
    .executeTakeFirstOrThrow();
  await addDeliveries(transaction, [{ endpoint_id: endpointId, sequence, line }]);
  return id;
}

async function startOf(
  transaction: Transaction<Tables>,
  { after, since }: ReplayFrom,
): Promise<{ readonly after: string; readonly since: Date | undefined } | undefined> {
  if (after === undefined) return { after: '0', since };
  const sequence = await sequenceOf(transaction, after);
  return sequence === undefined ? undefined : { after: sequence, since };
}

async function sequenceOf(db: Kysely<Tables>, eventId: string): Promise<string | undefined> {
  const row = await db
    .selectFrom('webhook_events')
    .select('sequence')
    .where('id', '=', eventId)
    .executeTakeFirst();
  return row?.sequence;
}
