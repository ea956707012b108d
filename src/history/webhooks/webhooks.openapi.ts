import {
  type AnswersByStatus,
  describing,
  KEY_ALWAYS,
  NO_KEY,
  type OpenApiPart,
  problem,
  TOO_MANY,
} from '../../platform/http/openapi.js';
import { REASONS } from '../../protocol/reasons.js';

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

const ALL: AnswersByStatus = {
  401: NO_KEY,
  403: problem(
    'An API key without the scope `history`, without payees, or not for this payee or event.',
    { error: REASONS.forbidden.meaning, reason: 'forbidden' },
  ),
  429: TOO_MANY,
  503: problem('The database does not answer.', {
    error: 'The database of the webhooks is unavailable. Try again.',
  }),
};

export const Describes = describing({ tag: 'Webhooks', security: KEY_ALWAYS }, ALL);

/** Of a body or a query that is not understood. */
export const INVALID: AnswersByStatus = {
  400: problem('A field is missing or malformed.', { error: 'url: must begin with https.' }),
};
export const UNKNOWN: AnswersByStatus = {
  404: problem('This API key has no webhook, delivery or secret with this id.', {
    error: 'This API key has no webhook or delivery with that id.',
  }),
};
export const CONFLICT: AnswersByStatus = {
  409: problem('The limit is reached, the last secret would go, or the webhook is disabled.', {
    error: 'A webhook needs a secret: its last one cannot be removed.',
  }),
};

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

export const DONE: AnswersByStatus = { 204: { description: 'Done.' } };

/** The URLs that get the events of a seller's settlements. */
export const WEBHOOKS_OPENAPI: OpenApiPart = {
  tags: [
    { name: 'Webhooks', description: 'Events of settlements, posted to URLs as they happen.' },
  ],
};
