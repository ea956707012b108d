import { applyDecorators } from '@nestjs/common';
import { ApiParam } from '@nestjs/swagger';
import {
  count,
  flag,
  jsonAnswer,
  type JsonObject,
  listOf,
  moment,
  object,
  problem,
  schemaRef,
  text,
} from '../../platform/http/openapi.js';
import { describedWith, NO_REDIS } from './admin-refusals.openapi.js';

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
      { requester: { ...text, description: 'Id of the request that has the sale.' } },
    ),
    isAsync: { ...flag, description: 'Accepted by a 202 answer.' },
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

const NO_HISTORY = problem('There is no history.', {
  error: 'The history is off: `DATABASE_URL` is not set.',
  code: 'history_off',
});
const AWAY = problem(
  'The history cannot be asked now, or this takes it too long (`history_too_slow`).',
  { error: 'The history database is unavailable. Try again.', code: 'history_unavailable' },
);
const WRONG = problem('A parameter is wrong, or unknown, or a cursor of another list.', {
  error: 'from must be given without payTo or payer.',
  code: 'invalid_query',
});
const UNKNOWN = problem('The history has no entry with this id.', {
  error: 'The history has no such entry.',
  code: 'not_found',
});
const found = (schema: string): JsonObject => jsonAnswer('The answer.', schema);

const ofHistory = describedWith({ 400: WRONG, 501: NO_HISTORY, 503: AWAY });
const ofRedis = describedWith({ 503: NO_REDIS });
const HasId = (): MethodDecorator => ApiParam({ name: 'id', schema: { ...text, minLength: 1 } });

/** The description of a list of the history. */
export const DescribesList = (
  id: string,
  summary: string,
  schema: string,
  description?: string,
): MethodDecorator => ofHistory(id, summary, { 200: found(schema) }, description);

/** The description of a list that belongs to the id in the path. */
export const DescribesListOf = (id: string, summary: string, schema: string): MethodDecorator =>
  applyDecorators(HasId(), ofHistory(id, summary, { 200: found(schema), 404: UNKNOWN }));

/** The description of `GET /admin/api/settlements/:id`. */
export const DescribesLife = (): MethodDecorator =>
  applyDecorators(
    HasId(),
    ofRedis(
      'settlementLife',
      'The whole life of one settlement',
      { 200: found('SettlementLife'), 404: UNKNOWN },
      'From Redis or the history: its sale, its transactions, its acknowledged answers, the findings of reconciliation. `history.status` is whether the history could be read.',
    ),
  );
