import {
  type Json,
  jsonAnswer,
  type JsonObject,
  KEY_ALWAYS,
  type OpenApiPart,
  schemaRef,
} from '../../platform/http/openapi.js';
import { EVENT_TYPES } from './webhook.js';
import { DESCRIPTION_MAX, PAYEES_MAX, URL_MAX } from './webhook-request.js';
import { REPLAY_MAX, SECRETS_MAX, WEBHOOKS_MAX } from './webhook-store.js';

const text: JsonObject = { type: 'string' };
const moment: JsonObject = { type: 'string', format: 'date-time' };
const address: JsonObject = { type: 'string', pattern: '^0x[0-9a-fA-F]{40}$' };
const eventId: JsonObject = { type: 'string', pattern: '^evt_[A-Za-z0-9_-]{32}$' };
const url: JsonObject = { type: 'string', format: 'uri', maxLength: URL_MAX };
/** Of one line. */
const description: JsonObject = {
  type: 'string',
  maxLength: DESCRIPTION_MAX,
  pattern: '^[^\\u0000-\\u001f\\u007f-\\u009f]*$',
};
const payees: JsonObject = { type: 'array', items: address, minItems: 1, maxItems: PAYEES_MAX };
const events: JsonObject = {
  type: 'array',
  items: { type: 'string', enum: EVENT_TYPES },
  minItems: 1,
};

const EVENT = 'evt_bk8Vd3w0T1QkXo5rJ2n7ZpLq9sHc4YuE';
const NEW_WEBHOOK = {
  id: 'we_3fQm1Zt8cV0yKpWn5aRbUe2d',
  url: 'https://shop.example/x402',
  description: 'orders',
  payees: ['0x209693bc6afc0c5328ba36faf03c514ef312287c'],
  events: ['settlement.included', 'settlement.failed'],
  secrets: [{ id: 'ws_Zt8cV0yKpWn5' }],
  createdAt: '2026-11-22T08:00:00.000Z',
  status: 'enabled',
};
const WEBHOOK = { ...NEW_WEBHOOK, confirmedAt: '2026-11-22T08:00:07.000Z' };
const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=';

const problem = (what: string, error: string): JsonObject => jsonAnswer(what, 'Problem', { error });
const REFUSALS: Readonly<Record<number, JsonObject>> = {
  400: problem('Something is missing or is none.', 'url: https is expected.'),
  401: problem('No API key, or an unknown one.', 'There is no API key, or it is not known.'),
  403: problem(
    'An API key without the scope `history`, without payees, or not for this payee or event.',
    'The API key does not allow this.',
  ),
  404: problem('None of this API key has this name.', 'There is nothing here.'),
  409: problem('There are as many as may be, or too few.', 'A webhook keeps its last secret.'),
  429: problem('Too many requests.', 'Too many requests; `Retry-After` says when to ask again.'),
  503: problem('The database does not answer.', 'Webhooks cannot be reached now; ask again.'),
};

interface Operation {
  readonly id: string;
  readonly summary: string;
  readonly description?: string;
  readonly parameters?: readonly Json[];
  readonly body?: string;
  readonly answers: Readonly<Record<number, JsonObject>>;
  readonly refusals?: readonly number[];
}

function operation({
  id,
  summary,
  parameters = [],
  body,
  answers,
  ...more
}: Operation): JsonObject {
  const { description: said, refusals = [] } = more;
  const statuses = [401, 403, 429, 503, ...refusals].sort((a, b) => a - b);
  return {
    operationId: id,
    tags: ['Webhooks'],
    summary,
    ...(said !== undefined && { description: said }),
    security: KEY_ALWAYS,
    ...(parameters.length > 0 && { parameters }),
    ...(body !== undefined && {
      requestBody: {
        required: true,
        content: { 'application/json': { schema: schemaRef(body) } },
      },
    }),
    responses: {
      ...answers,
      ...Object.fromEntries(statuses.map((status) => [String(status), REFUSALS[status] ?? {}])),
    },
  };
}

const inPath = (name: string): JsonObject => ({
  name,
  in: 'path',
  required: true,
  schema: { type: 'string', maxLength: 64 },
});
const OF_ONE = [inPath('id')];
const DONE: JsonObject = { description: 'Done.' };

/** Where sellers are told of their settlements. */
export const WEBHOOKS_OPENAPI: OpenApiPart = {
  tags: [{ name: 'Webhooks', description: 'Settlements, told as they happen.' }],
  paths: {
    '/v2/webhooks': {
      post: operation({
        id: 'createWebhook',
        summary: 'Tell settlements to a URL',
        body: 'WebhookCreation',
        description:
          `At most ${WEBHOOKS_MAX} of an API key. Without \`payees\` it hears of all that the key may list. ` +
          '`lane.low` is told only to keys with the scope `admin`, which need no payees for it. ' +
          'The secret is in this answer and in no other. ' +
          'The URL is sent an event `webhook.challenge` first, and nothing else until it has answered with what that holds.',
        answers: {
          201: jsonAnswer('Made.', 'NewWebhook', { ...NEW_WEBHOOK, secret: SECRET }, ['Location']),
        },
        refusals: [400, 409],
      }),
      get: operation({
        id: 'webhooks',
        summary: 'Webhooks of the API key',
        answers: { 200: jsonAnswer('All of them.', 'Webhooks', { webhooks: [WEBHOOK] }) },
      }),
    },
    '/v2/webhooks/{id}': {
      get: operation({
        id: 'webhook',
        summary: 'A webhook',
        parameters: OF_ONE,
        answers: { 200: jsonAnswer('The webhook.', 'Webhook', WEBHOOK) },
        refusals: [404],
      }),
      patch: operation({
        id: 'changeWebhook',
        summary: 'Change a webhook, disable it, enable it again',
        parameters: OF_ONE,
        body: 'WebhookChange',
        description: 'Another URL is sent a challenge of its own.',
        answers: { 200: jsonAnswer('As it is now.', 'Webhook', WEBHOOK) },
        refusals: [400, 404],
      }),
      delete: operation({
        id: 'deleteWebhook',
        summary: 'Delete a webhook',
        parameters: OF_ONE,
        answers: { 204: DONE },
        refusals: [404],
      }),
    },
    '/v2/webhooks/{id}/secrets': {
      post: operation({
        id: 'addWebhookSecret',
        summary: 'One more secret',
        parameters: OF_ONE,
        description: `At most ${SECRETS_MAX} at once: each event is signed by all of them.`,
        answers: {
          201: jsonAnswer('Made.', 'WebhookSecret', { id: 'ws_Zt8cV0yKpWn5', secret: SECRET }),
        },
        refusals: [404, 409],
      }),
    },
    '/v2/webhooks/{id}/secrets/{secretId}': {
      delete: operation({
        id: 'deleteWebhookSecret',
        summary: 'Sign by a secret no more',
        parameters: [...OF_ONE, inPath('secretId')],
        answers: { 204: DONE },
        refusals: [404, 409],
      }),
    },
    '/v2/webhooks/{id}/test': {
      post: operation({
        id: 'testWebhook',
        summary: 'Send an event `webhook.test`',
        parameters: OF_ONE,
        description: 'Where the URL has not answered its challenge yet, another challenge.',
        answers: { 202: jsonAnswer('It is sent.', 'WebhookTest', { eventId: EVENT }) },
        refusals: [404, 409],
      }),
    },
    '/v2/webhooks/{id}/replay': {
      post: operation({
        id: 'replayWebhook',
        summary: 'Send events again',
        parameters: OF_ONE,
        body: 'WebhookReplay',
        description:
          `At most ${REPLAY_MAX} events; \`next\` is the one to go on after. They keep their ids. ` +
          'Events are kept for 30 days.',
        answers: { 202: jsonAnswer('They are sent.', 'WebhookReplayed', { events: 12 }) },
        refusals: [400, 404],
      }),
    },
    '/v2/webhooks/{id}/deliveries': {
      get: operation({
        id: 'webhookDeliveries',
        summary: 'What was sent, and what was answered',
        parameters: [
          ...OF_ONE,
          { name: 'limit', in: 'query', schema: { type: 'integer', minimum: 1, maximum: 200 } },
          { name: 'before', in: 'query', description: 'An event.', schema: eventId },
        ],
        answers: {
          200: jsonAnswer('Newest first.', 'WebhookDeliveries', {
            deliveries: [
              {
                eventId: EVENT,
                type: 'settlement.included',
                state: 'waiting',
                attempts: 2,
                settlementId: 'f2c1Qm1Zt8cV0yKpWn5aRbUe2dMfKQ9r8GKYqrTwjUPA',
                happenedAt: '2026-11-22T08:00:00.000Z',
                triedAt: '2026-11-22T08:00:06.000Z',
                dueAt: '2026-11-22T08:00:36.000Z',
                status: 500,
                problem: 'It answered with another status than 2xx.',
                answer: 'out of order',
              },
            ],
          }),
        },
        refusals: [400, 404],
      }),
    },
  },
  schemas: {
    WebhookCreation: {
      type: 'object',
      required: ['url'],
      properties: { url, description, payees, events },
      additionalProperties: false,
    },
    WebhookChange: {
      type: 'object',
      properties: { url, description, payees, events, enabled: { type: 'boolean' } },
      additionalProperties: false,
    },
    WebhookReplay: {
      type: 'object',
      description: 'One of the two, or both.',
      properties: { after: eventId, since: moment },
      minProperties: 1,
      additionalProperties: false,
    },
    Webhook: webhookSchema({}),
    NewWebhook: webhookSchema({ secret: text }),
    Webhooks: {
      type: 'object',
      required: ['webhooks'],
      properties: { webhooks: { type: 'array', items: schemaRef('Webhook') } },
    },
    WebhookSecret: {
      type: 'object',
      required: ['id', 'secret'],
      properties: { id: text, secret: text },
    },
    WebhookTest: { type: 'object', required: ['eventId'], properties: { eventId } },
    WebhookReplayed: {
      type: 'object',
      required: ['events'],
      properties: { events: { type: 'integer', minimum: 0 }, next: eventId },
    },
    WebhookDeliveries: {
      type: 'object',
      required: ['deliveries'],
      properties: {
        deliveries: { type: 'array', items: schemaRef('WebhookDelivery') },
        next: eventId,
      },
    },
    WebhookDelivery: {
      type: 'object',
      required: ['eventId', 'type', 'state', 'attempts', 'happenedAt'],
      properties: {
        eventId,
        type: text,
        settlementId: text,
        state: { type: 'string', enum: ['waiting', 'delivered', 'failed', 'withheld'] },
        attempts: { type: 'integer', minimum: 0 },
        happenedAt: moment,
        triedAt: moment,
        dueAt: moment,
        status: { type: 'integer', description: 'Of the last answer.' },
        problem: text,
        answer: { ...text, description: 'Its first 256 characters.' },
      },
    },
  },
};

function webhookSchema(more: JsonObject): JsonObject {
  return {
    type: 'object',
    required: ['id', 'url', 'payees', 'events', 'secrets', 'createdAt', 'status'],
    properties: {
      id: text,
      url,
      description,
      events,
      // An operator's that hears of lanes alone has none.
      payees: { type: 'array', items: address, maxItems: PAYEES_MAX },
      secrets: {
        type: 'array',
        items: { type: 'object', required: ['id'], properties: { id: text } },
      },
      createdAt: moment,
      confirmedAt: {
        ...moment,
        description: 'When its URL answered the challenge; until then nothing else is sent there.',
      },
      status: { type: 'string', enum: ['enabled', 'disabled'] },
      failingSince: moment,
      disabled: {
        type: 'object',
        required: ['at', 'reason'],
        properties: {
          at: moment,
          reason: { type: 'string', enum: ['owner', 'failing', 'gone'] },
        },
      },
      ...more,
    },
  };
}
