import { Inject, Injectable } from '@nestjs/common';
import { sql, type Transaction } from 'kysely';
import { Clock } from '../../platform/concurrency/clock.js';
import type { ChangeFollower, RowChange } from '../postgres/change-follower.js';
import type { Tables } from '../postgres/tables.js';
import { eventBody } from './event-body.js';
import { eventIdOf, eventsBetween, type WebhookEventType } from './settlement-events.js';

interface NewEvent {
  readonly id: string;
  readonly type: WebhookEventType;
  readonly line: Buffer;
  readonly pay_to: Buffer;
  readonly body: string;
}

interface Listener {
  readonly id: string;
  readonly payees: ReadonlySet<string>;
  readonly types: ReadonlySet<string>;
  readonly isDisabled: boolean;
}

/**
 * Stores events of settlements that an endpoint subscribes to, with their deliveries. Events
 * without a subscriber are not stored.
 */
@Injectable()
export class EventWriter implements ChangeFollower {
  constructor(@Inject(Clock) private readonly clock: Pick<Clock, 'now'>) {}

  async follow(transaction: Transaction<Tables>, changes: readonly RowChange[]): Promise<void> {
    const events = changes.flatMap((change) => this.#eventsOf(change));
    if (events.length === 0) return;
    const listeners = await listenersOf(transaction, events);
    const heard = events.filter(({ pay_to }) =>
      listeners.some((one) => one.payees.has(hex(pay_to))),
    );
    if (heard.length === 0) return;
    const written = await transaction
      .insertInto('webhook_events')
      .values(heard)
      .onConflict((conflict) => conflict.column('id').doNothing())
      .returning(['sequence', 'id'])
      .execute();
    const sequences = new Map(written.map(({ id, sequence }) => [id, sequence]));
    const deliveries = heard.flatMap(({ id, type, line, pay_to }) => {
      const sequence = sequences.get(id);
      if (sequence === undefined) return [];
      return listeners
        .filter((one) => !one.isDisabled && one.types.has(type) && one.payees.has(hex(pay_to)))
        .map((one) => ({ endpoint_id: one.id, sequence, line }));
    });
    await addDeliveries(transaction, deliveries);
  }

  #eventsOf({ before, after }: RowChange): NewEvent[] {
    const { pay_to, id: line } = after;
    if (pay_to === null) return [];
    const at = new Date(this.clock.now());
    return eventsBetween(before, after).map((type) => ({
      id: eventIdOf(type, after),
      type,
      line,
      pay_to,
      body: eventBody(type, after, at),
    }));
  }
}

/** Endpoints of these payees, locked against deletion until the transaction ends. */
async function listenersOf(
  transaction: Transaction<Tables>,
  events: readonly NewEvent[],
): Promise<readonly Listener[]> {
  const payees = [...new Set(events.map(({ pay_to }) => hex(pay_to)))];
  const rows = await transaction
    .selectFrom('webhook_endpoints')
    .select(['id', 'payees', 'event_types', 'disabled_at'])
    .where(sql<boolean>`payees && ${payees.map((payee) => Buffer.from(payee, 'hex'))}::bytea[]`)
    .forKeyShare()
    .execute();
  return rows.map((row) => ({
    id: row.id,
    payees: new Set(row.payees.map(hex)),
    types: new Set(row.event_types),
    isDisabled: row.disabled_at !== null,
  }));
}

interface NewDelivery {
  readonly endpoint_id: string;
  readonly sequence: string;
  readonly line: Buffer;
}

/** A delivery behind another one is due at the same time, because it is not read earlier. */
export async function addDeliveries(
  transaction: Transaction<Tables>,
  deliveries: readonly NewDelivery[],
): Promise<void> {
  if (deliveries.length === 0) return;
  await sql`
    insert into x402.webhook_deliveries (endpoint_id, sequence, line, due_at)
    select endpoint_id, sequence, line, greatest(now(), (
      select max(due_at) from x402.webhook_deliveries waiting
      where waiting.endpoint_id = added.endpoint_id and waiting.line = added.line and waiting.state = 'waiting'))
    from unnest(
      ${deliveries.map((one) => one.endpoint_id)}::text[],
      ${deliveries.map((one) => one.sequence)}::bigint[],
      ${deliveries.map((one) => one.line)}::bytea[]
    ) as added (endpoint_id, sequence, line)
    on conflict (endpoint_id, sequence) do nothing`.execute(transaction);
}

const hex = (bytes: Buffer): string => bytes.toString('hex');
