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
    'The API key lacks the scope `history`, has no payees, or may not see this payee or event.',
    { error: REASONS.forbidden.meaning },
  ),
  429: TOO_MANY,
  503: problem('The database does not answer.', {
    error: 'The database of the webhooks is unavailable. Try again.',
  }),
};

export const Describes = describing({ tag: 'Webhooks', security: KEY_ALWAYS }, ALL);

/** The answer to a malformed body or query. */
export const INVALID: AnswersByStatus = {
  400: problem('A field is missing or malformed.', {
    error: 'url must be a URL that begins with https.',
    code: 'invalid_request',
    path: 'url',
    expected: 'a URL that begins with https',
    got: 'text of 22 characters',
  }),
};
export const UNKNOWN: AnswersByStatus = {
  404: problem('This API key has no webhook, delivery or secret with this id.', {
    error: 'This API key has no webhook or delivery with that id.',
  }),
};
export const CONFLICT: AnswersByStatus = {
  409: problem('The maximum is reached, the secret is the last one, or the webhook is disabled.', {
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
