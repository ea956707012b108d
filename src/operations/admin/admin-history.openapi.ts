import { WEBHOOK_STATUSES } from '../../history/operators/operator-archive.js';
import { GROUP_BY_SCHEMA } from '../../history/operators/operator-query.js';
import {
  type Json,
  jsonAnswer,
  type JsonObject,
  KEY_ALWAYS,
  schemaRef,
} from '../../platform/http/openapi.js';
import { ADDRESS_SCHEMA, CAIP2_SCHEMA, WHEN_SCHEMA } from '../../protocol/payment/wire-schemas.js';
import { SETTLEMENT_STATES } from '../../settlement/model/settlement.js';
import { ADMIN_REFUSALS, NO_REDIS } from './admin-refusals.openapi.js';

const text: JsonObject = { type: 'string' };
const count: JsonObject = { type: 'integer', minimum: 0 };
const flag: JsonObject = { type: 'boolean' };
const moment: JsonObject = { type: 'string', format: 'date-time' };
const listOf = (items: JsonObject): JsonObject => ({ type: 'array', items });

function object(properties: JsonObject, optional: JsonObject = {}): JsonObject {
  return {
    type: 'object',
    required: Object.keys(properties),
    properties: { ...properties, ...optional },
  };
}

const event = { eventId: text, type: text };
const answered = { triedAt: moment, dueAt: moment, status: count, problem: text, answer: text };
const told = { state: text, attempts: count };
const action = object(
  {
    id: text,
    at: moment,
    action: text,
    subject: text,
    by: { ...text, description: 'Id of an API key.' },
  },
  {
    network: { ...text, description: 'Missing for what is of no one network.' },
    reason: { ...text, description: 'As the operator gave it.' },
  },
);
const difference = object(
  {
    runId: text,
    number: count,
    name: text,
    isNote: { ...flag, description: 'It explains a balance and is no difference.' },
  },
  {
    meaning: text,
    settlementId: text,
    transaction: text,
    logIndex: count,
    block: text,
    lane: text,
    expected: { ...text, description: 'What the books say.' },
    found: { ...text, description: 'What the chain says.' },
  },
);
const run = {
  id: text,
  network: text,
  startedBy: text,
  from: moment,
  to: moment,
  settlements: count,
  transactions: count,
  counts: { type: 'object', additionalProperties: count, description: 'By name, notes too.' },
  differences: count,
  startedAt: moment,
  finishedAt: moment,
};
const blocks = { blocks: object({ first: text, last: text }) };

export const ADMIN_HISTORY_SCHEMAS: Readonly<Record<string, JsonObject>> = {
  SettlementLife: object({
    network: text,
    settlement: schemaRef('Settlement'),
    sale: object(
      { state: text, isBoundToKey: flag, isSoldToKey: flag },
      { requester: { ...text, description: 'Id of the request that was told of it.' } },
    ),
    isAsync: { ...flag, description: 'Handed out by a 202 answer.' },
    attempts: {
      ...listOf(
        object({
          lane: text,
          accountNonce: count,
          kind: text,
          settlementIds: listOf(text),
          transactions: listOf(text),
          maxFeePerGasWei: text,
          ageMs: count,
        }),
      ),
      description: 'That carry it now.',
    },
    history: object(
      { status: { type: 'string', enum: ['known', 'off', 'unavailable'] } },
      {
        code: text,
        error: text,
        row: {
          ...object({ archivedAt: moment, isTold: flag, isKept: flag }),
          description: 'Missing for one that is not archived yet.',
        },
        events: listOf(
          object({
            ...event,
            happenedAt: moment,
            deliveries: listOf(
              object({ webhookId: text, owner: text, url: text, ...told }, answered),
            ),
          }),
        ),
        differences: listOf(difference),
        actions: {
          ...listOf(action),
          description: 'Of operators on its network, from an hour before its claim to its end.',
        },
      },
    ),
  }),
  OperatorWebhooks: object(
    {
      webhooks: listOf(
        object(
          {
            id: text,
            owner: text,
            url: text,
            description: text,
            payees: listOf(text),
            events: listOf(text),
            secrets: listOf(object({ id: text })),
            createdAt: moment,
            status: { type: 'string', enum: ['enabled', 'disabled'] },
            backlog: object(
              { waiting: count, isMore: { ...flag, description: 'There are more than that.' } },
              { firstDueAt: moment },
            ),
          },
          {
            failingSince: moment,
            disabled: object({ at: moment, reason: text }),
            last: object(
              { at: moment, state: text },
              { status: count, problem: text, answer: text },
            ),
          },
        ),
      ),
    },
    { next: text },
  ),
  OperatorDeliveries: object(
    {
      deliveries: listOf(
        object({ ...event, happenedAt: moment, ...told }, { settlementId: text, ...answered }),
      ),
    },
    { next: text },
  ),
  Reconciliations: object({ runs: listOf(object(run, blocks)) }, { next: text }),
  Reconciliation: object(
    {
      ...run,
      found: listOf(difference),
      lanes: listOf(
        object(
          { lane: text, transactions: count, feesWei: text },
          {
            nonceBefore: text,
            nonceAfter: text,
            balanceBeforeWei: text,
            balanceAfterWei: text,
          },
        ),
      ),
    },
    { ...blocks, next: text },
  ),
  OperatorActions: object({ actions: listOf(action) }, { next: text }),
};

const NO_HISTORY = jsonAnswer('There is no history.', 'Problem', {
  error: 'The history is off: `DATABASE_URL` is not set.',
  code: 'history_off',
});
const AWAY = jsonAnswer(
  'The history cannot be asked now, or this takes it too long (`history_too_slow`).',
  'Problem',
  { error: 'The history database is unavailable. Try again.', code: 'history_unavailable' },
);
const WRONG = jsonAnswer(
  'A parameter is wrong, or unknown, or a cursor of another list.',
  'Problem',
  {
    error: 'from must be given without payTo or payer.',
    code: 'invalid_query',
  },
);
const UNKNOWN = jsonAnswer('There is none of this id.', 'Problem', {
  error: 'The history has no such entry.',
  code: 'not_found',
});

const name: JsonObject = { type: 'string', pattern: '^[A-Za-z0-9_.:-]{1,128}$' };

/** As `operator-query.ts` reads them. */
const PARAMETERS: Readonly<Record<string, JsonObject>> = {
  payTo: ADDRESS_SCHEMA,
  payer: ADDRESS_SCHEMA,
  state: { type: 'string', enum: SETTLEMENT_STATES },
  asset: ADDRESS_SCHEMA,
  network: CAIP2_SCHEMA,
  from: { ...WHEN_SCHEMA, description: 'At or after: a day (UTC), or a time with its zone.' },
  to: { ...WHEN_SCHEMA, description: 'Before.' },
  limit: { type: 'integer', minimum: 1, maximum: 100, default: 50 },
  cursor: { ...text, description: '`nextCursor` of the page before.' },
  before: { ...text, minLength: 1, description: '`next` of the page before.' },
  after: { ...text, minLength: 1, description: '`next` of the page before.' },
  groupBy: {
    ...GROUP_BY_SCHEMA,
    default: 'day,asset',
    description: 'A list of `day`, `asset` and `payee`.',
  },
  owner: name,
  by: name,
  subject: { type: 'string', pattern: '^[A-Za-z0-9_.:[\\]-]{1,300}$' },
  status: { type: 'string', enum: WEBHOOK_STATUSES },
};

interface Read {
  readonly id: string;
  readonly summary: string;
  readonly description?: string;
  readonly query?: readonly string[];
  /** Whether there is a name in the path. */
  readonly isOfOne?: boolean;
  readonly answer: string;
}

function read({ id, summary, description, query = [], isOfOne, answer }: Read): JsonObject {
  const parameters: Json[] = query.map((asked) => ({
    name: asked,
    in: 'query',
    schema: PARAMETERS[asked] ?? text,
  }));
  if (isOfOne === true) {
    const schema = { ...text, minLength: 1 };
    parameters.unshift({ name: 'id', in: 'path', required: true, schema });
  }
  const isLife = answer === 'SettlementLife';
  return {
    get: {
      operationId: id,
      tags: ['Operators'],
      summary,
      ...(description !== undefined && { description }),
      security: KEY_ALWAYS,
      ...(parameters.length > 0 && { parameters }),
      responses: {
        200: jsonAnswer('What was found.', answer),
        ...(isLife ? {} : { 400: WRONG }),
        ...ADMIN_REFUSALS,
        ...(isOfOne === true && { 404: UNKNOWN }),
        ...(isLife ? { 503: NO_REDIS } : { 501: NO_HISTORY, 503: AWAY }),
      },
    },
  };
}

const FILTERS = ['payTo', 'payer', 'state', 'asset', 'network', 'from', 'to'];

export const ADMIN_HISTORY_PATHS: Readonly<Record<string, JsonObject>> = {
  '/admin/api/history/settlements': read({
    id: 'searchHistory',
    summary: 'Settlements of the history, newest first',
    description:
      'Of every payee. Without `payTo` or `payer` it needs `from`, at most 92 days before `to`.',
    query: [...FILTERS, 'limit', 'cursor'],
    answer: 'Settlements',
  }),
  '/admin/api/history/totals': read({
    id: 'historyTotals',
    summary: 'What was settled, by day and asset',
    description: '`from` is needed: at most 92 days, or 366 of one payee or payer.',
    query: [...FILTERS, 'groupBy'],
    answer: 'SettlementTotals',
  }),
  '/admin/api/settlements/{id}': read({
    id: 'settlementLife',
    summary: 'The whole life of one settlement',
    description:
      'From Redis or the history: its sale, what carries it now, what was told of it to whom, what reconciliation found. `history.status` says whether the history could be asked.',
    isOfOne: true,
    answer: 'SettlementLife',
  }),
  '/admin/api/webhooks': read({
    id: 'allWebhooks',
    summary: 'Webhooks of every API key',
    description:
      'With the last answer of each, and what waits for it. `status=failing`: enabled, and nothing reaches it.',
    query: ['owner', 'status', 'limit', 'after'],
    answer: 'OperatorWebhooks',
  }),
  '/admin/api/webhooks/{id}/deliveries': read({
    id: 'anyDeliveries',
    summary: 'Deliveries to a webhook, newest first',
    query: ['limit', 'before'],
    isOfOne: true,
    answer: 'OperatorDeliveries',
  }),
  '/admin/api/reconciliations': read({
    id: 'reconciliations',
    summary: 'Runs of the reconciliation, newest first',
    query: ['network', 'limit', 'before'],
    answer: 'Reconciliations',
  }),
  '/admin/api/reconciliations/{id}': read({
    id: 'reconciliation',
    summary: 'What one run found',
    query: ['limit', 'after'],
    isOfOne: true,
    answer: 'Reconciliation',
  }),
  '/admin/api/audit': read({
    id: 'operatorActions',
    summary: 'What operators did, newest first',
    query: ['by', 'subject', 'network', 'from', 'to', 'limit', 'before'],
    answer: 'OperatorActions',
  }),
};
