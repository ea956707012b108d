import { type Kysely, type Selectable, sql } from 'kysely';
import type {
  ReportedDelivery,
  ReportedEvent,
  WebhookFilter,
  WebhookState,
} from '../operators/operator-archive.js';
import { webhookOf } from '../webhooks/rows.js';
import type { DeliveryState, Tables } from './tables.js';

/** Deliveries counted per endpoint. Counting all of a long queue would take too long for a page. */
const COUNTED_MOST = 1000;

type EndpointRow = Selectable<Tables['webhook_endpoints']>;
type StateRow = EndpointRow & {
  readonly waiting: string;
  readonly first_due_at: Date | null;
  readonly last: LastRow | null;
};

/** A row as JSON of PostgreSQL. */
interface LastRow {
  readonly state: string;
  readonly tried_at: string;
  readonly status: number | null;
  readonly problem: string | null;
  readonly answer: string | null;
}

/** Endpoints of all owners, sorted by id. */
export async function webhookStates(
  db: Kysely<Tables>,
  filter: WebhookFilter,
  most: number,
): Promise<readonly WebhookState[]> {
  const query = sql<StateRow>`
    select endpoint.*, line.waiting, line.first_due_at, to_jsonb(last) as last
    from (
      select * from x402.webhook_endpoints
      where ${sql.join([sql`true`, ...conditionsOf(filter)], sql` and `)}
      order by id limit ${most}
    ) as endpoint
    cross join lateral (
      select count(*) as waiting, min(due_at) as first_due_at from (
        select due_at from x402.webhook_deliveries
        where endpoint_id = endpoint.id and state = 'waiting' limit ${COUNTED_MOST + 1}
      ) as counted
    ) as line
    left join lateral (
      select state, tried_at, status, problem, answer from x402.webhook_deliveries
      where endpoint_id = endpoint.id and tried_at is not null order by tried_at desc limit 1
    ) as last on true
    order by endpoint.id`;
  const { rows } = await query.execute(db);
  return rows.map(stateOf);
}

function conditionsOf({ owner, status, after }: WebhookFilter) {
  const ofStatus = {
    enabled: sql`disabled_at is null and failing_since is null`,
    failing: sql`disabled_at is null and failing_since is not null`,
    disabled: sql`disabled_at is not null`,
  };
  return [
    ...(owner === undefined ? [] : [sql`owner = ${owner}`]),
    ...(status === undefined ? [] : [ofStatus[status]]),
    ...(after === undefined ? [] : [sql`id > ${after}`]),
  ];
}

function stateOf(row: StateRow): WebhookState {
  const { last, waiting } = row;
  const count = Number(waiting);
  return {
    webhook: webhookOf(row),
    last:
      last === null
        ? undefined
        : { ...answeredOf(last), state: last.state, at: new Date(last.tried_at) },
    backlog: {
      waiting: Math.min(count, COUNTED_MOST),
      isMore: count > COUNTED_MOST,
      firstDueAt: row.first_due_at ?? undefined,
    },
  };
}

function answeredOf({ status, problem, answer }: Pick<LastRow, 'status' | 'problem' | 'answer'>) {
  return {
    ...(status !== null && { status }),
    ...(problem !== null && { problem }),
    ...(answer !== null && { answer }),
  };
}

/** The events of a settlement, oldest first, each with its deliveries. */
export async function eventsOf(
  db: Kysely<Tables>,
  line: Buffer,
  most: number,
): Promise<readonly ReportedEvent[]> {
  const events = await db
    .selectFrom('webhook_events')
    .select(['sequence', 'id', 'type', 'created_at'])
    .where('line', '=', line)
    .orderBy('sequence')
    .limit(most)
    .execute();
  if (events.length === 0) return [];
  const rows = await db
    .selectFrom('webhook_deliveries as delivery')
    .innerJoin('webhook_endpoints as endpoint', 'endpoint.id', 'endpoint_id')
    .select(['sequence', 'endpoint_id', 'owner', 'url', 'state', 'attempts'])
    .select(['tried_at', 'due_at', 'status', 'problem', 'answer'])
    .where(
      'sequence',
      'in',
      events.map(({ sequence }) => sequence),
    )
    .orderBy('sequence')
    .orderBy('endpoint_id')
    .limit(most)
    .execute();
  return events.map(({ sequence, id, type, created_at }) => ({
    eventId: id,
    type,
    happenedAt: created_at,
    deliveries: rows.filter((row) => row.sequence === sequence).map(deliveryOf),
  }));
}

interface DeliveryRow {
  readonly endpoint_id: string;
  readonly owner: string;
  readonly url: string;
  readonly state: DeliveryState;
  readonly attempts: number;
  readonly tried_at: Date | null;
  readonly due_at: Date;
  readonly status: number | null;
  readonly problem: string | null;
  readonly answer: string | null;
}

function deliveryOf(row: DeliveryRow): ReportedDelivery {
  return {
    webhookId: row.endpoint_id,
    owner: row.owner,
    url: row.url,
    state: row.state,
    attempts: row.attempts,
    ...(row.tried_at !== null && { triedAt: row.tried_at }),
    ...(row.state === 'waiting' && { dueAt: row.due_at }),
    ...answeredOf(row),
  };
}
