import { applyDecorators } from '@nestjs/common';
import { ApiOperation } from '@nestjs/swagger';
import {
  Answers,
  jsonAnswer,
  type JsonObject,
  KEY_ALWAYS,
  listOf,
  moment,
  NO_KEY,
  type OpenApiPart,
  text,
} from '../../platform/http/openapi.js';
import { ADDRESS_SCHEMA } from '../../protocol/payment/wire-schemas.js';
import { DESCRIPTION_SCHEMA, EVENT_ID, PAYEES_MAX, URL_SCHEMA } from './dto/webhook.dto.js';
import { EVENT_TYPES } from './webhook.js';

const eventId: JsonObject = { type: 'string', pattern: EVENT_ID.source };
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
  400: problem('A field is missing or malformed.', 'url: must begin with https.'),
  401: NO_KEY,
  403: problem(
    'An API key without the scope `history`, without payees, or not for this payee or event.',
    'The API key does not have the scope that this request needs.',
  ),
  404: problem(
    'This API key has no webhook or delivery with this id.',
    'This API key has no webhook or delivery with that id.',
  ),
  409: problem(
    'The limit is reached, or the last secret would go.',
    'A webhook needs a secret: its last one cannot be removed.',
  ),
  429: problem('Too many requests.', 'Too many requests; `Retry-After` says when to ask again.'),
  503: problem(
    'The database does not answer.',
    'The database of the webhooks is unavailable. Try again.',
  ),
};

interface Operation {
  readonly id: string;
  readonly summary: string;
  readonly description?: string;
  readonly answers: Readonly<Record<number, JsonObject>>;
  readonly refusals?: readonly number[];
}

/** The description of a handler: what every handler of webhooks refuses alike is added. */
export function Describes({ id, answers, refusals = [], ...texts }: Operation): MethodDecorator {
  const statuses = [401, 403, 429, 503, ...refusals].sort((a, b) => a - b);
  return applyDecorators(
    ApiOperation({ operationId: id, tags: ['Webhooks'], security: KEY_ALWAYS, ...texts }),
    Answers({
      ...answers,
      ...Object.fromEntries(statuses.map((status) => [status, REFUSALS[status] ?? {}])),
    }),
  );
}

/** Examples of answers. */
export const EXAMPLES = {
  made: { ...NEW_WEBHOOK, secret: SECRET },
  webhook: WEBHOOK,
  secret: { id: 'ws_Zt8cV0yKpWn5', secret: SECRET },
  eventId: EVENT,
  deliveries: {
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
        problem: 'The URL answered with a status other than 2xx.',
        answer: 'out of order',
      },
    ],
  },
};

export const DONE: JsonObject = { description: 'Done.' };

/** The URLs that get the events of a seller's settlements. */
export const WEBHOOKS_OPENAPI: OpenApiPart = {
  tags: [{ name: 'Webhooks', description: 'Settlements, told as they happen.' }],
  schemas: {
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
      properties: { webhooks: listOf('Webhook') },
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
        deliveries: listOf('WebhookDelivery'),
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
      url: URL_SCHEMA,
      description: DESCRIPTION_SCHEMA,
      events,
      // A webhook of an operator that gets events of lanes alone has no payees.
      payees: { type: 'array', items: ADDRESS_SCHEMA, maxItems: PAYEES_MAX },
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
