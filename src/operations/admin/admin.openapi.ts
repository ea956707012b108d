import {
  jsonAnswer,
  type JsonObject,
  KEY_ALWAYS,
  type OpenApiPart,
} from '../../platform/http/openapi.js';
import { ADMIN_CATALOGUE_PATHS, ADMIN_CATALOGUE_SCHEMAS } from './admin-catalogue.openapi.js';
import { ADMIN_HISTORY_PATHS, ADMIN_HISTORY_SCHEMAS } from './admin-history.openapi.js';
import { ADMIN_REFUSALS, NO_REDIS } from './admin-refusals.openapi.js';

const LANE = {
  name: 'lane',
  in: 'path',
  required: true,
  description: 'Chain id and signer, as in `56:0x…`.',
  schema: { type: 'string' },
};

function switchOf(operationId: string, summary: string, description: string): JsonObject {
  return {
    post: {
      operationId,
      tags: ['Operators'],
      summary,
      description,
      security: KEY_ALWAYS,
      parameters: [LANE],
      responses: {
        200: jsonAnswer('The lane afterwards.', 'Lane'),
        ...ADMIN_REFUSALS,
        404: jsonAnswer('There is no such lane.', 'Problem', { error: 'There is nothing here.' }),
        503: NO_REDIS,
      },
    },
  };
}

const text = { type: 'string' };
const count = { type: 'integer', minimum: 0 };
const reference = (name: string): JsonObject => ({ $ref: `#/components/schemas/${name}` });
const listOf = (items: JsonObject): JsonObject => ({ type: 'array', items });

function object(properties: JsonObject, optional: JsonObject = {}): JsonObject {
  const all = { ...properties, ...optional };
  return { type: 'object', required: Object.keys(properties), properties: all };
}

/** Of the account that refills the lanes. */
const TREASURY = object(
  {
    dailyCapWei: { ...text, description: 'What it may cost a day (UTC).' },
    spentTodayWei: { ...text, description: 'Reserved or spent since 0:00 UTC, gas included.' },
  },
  { lastRefill: object({ to: text, valueWei: text, accountNonce: count, at: count }) },
);

/** What the operator page asks for; there only where API keys are in use. */
export const ADMIN_OPENAPI: OpenApiPart = {
  tags: [{ name: 'Operators', description: 'What the page at `/admin` shows and does.' }],
  paths: {
    '/admin/api/overview': {
      get: {
        operationId: 'overview',
        tags: ['Operators'],
        summary: 'Processes, queues and lanes',
        security: KEY_ALWAYS,
        responses: {
          200: jsonAnswer('As things stand.', 'Overview'),
          ...ADMIN_REFUSALS,
          503: NO_REDIS,
        },
      },
    },
    '/admin/api/settlements': {
      get: {
        operationId: 'newestSettlements',
        tags: ['Operators'],
        summary: 'The newest settlements, or those a text finds',
        security: KEY_ALWAYS,
        parameters: [
          {
            name: 'search',
            in: 'query',
            description: 'A settlement’s id, a transaction hash, or the address of a payer.',
            schema: { type: 'string', maxLength: 100 },
          },
        ],
        responses: {
          200: jsonAnswer('At most 50, newest first.', 'Settlements'),
          400: jsonAnswer('Not one short text.', 'Problem', {
            error: 'One settlement id, transaction hash or payer is expected.',
          }),
          ...ADMIN_REFUSALS,
          503: NO_REDIS,
        },
      },
    },
    '/admin/api/lanes/{lane}/pause': switchOf(
      'pauseLane',
      'Pauses a lane',
      'From now on it allocates nothing, across restarts too. What it has sent it follows to its end.',
    ),
    '/admin/api/lanes/{lane}/resume': switchOf(
      'resumeLane',
      'Resumes a lane',
      'It takes work again.',
    ),
    '/admin/api/lanes/{lane}/retire': switchOf(
      'retireLane',
      'Retires a lane',
      'From now on it takes only payments that name its signer, and `/supported` names it no more.',
    ),
    '/admin/api/lanes/{lane}/reinstate': switchOf(
      'reinstateLane',
      'Reinstates a lane',
      'It takes any work again, and `/supported` names it.',
    ),
    ...ADMIN_HISTORY_PATHS,
    ...ADMIN_CATALOGUE_PATHS,
  },
  schemas: {
    ...ADMIN_HISTORY_SCHEMAS,
    ...ADMIN_CATALOGUE_SCHEMAS,
    Lane: object(
      {
        lane: text,
        chainId: count,
        signer: text,
        process: text,
        trouble: { type: ['string', 'null'], description: 'Why it takes no work now.' },
        balance: { ...text, description: 'Whole native coins.' },
        settlementsLeft: {
          ...count,
          description: 'What the balance pays for at the price of now.',
        },
        inFlight: count,
        window: count,
        nextNonce: count,
        oldestNonce: count,
        oldestInFlightMs: count,
        inclusionMs: count,
        perSecond: { type: 'number' },
        silentMs: count,
        paused: {
          anyOf: [object({ at: count, by: text }), { type: 'null' }],
          description: 'Since when, and by whose key.',
        },
        retiring: {
          anyOf: [object({ at: count, by: text }), { type: 'null' }],
          description: 'Likewise, where an operator retires it.',
        },
        attempts: listOf(
          object({
            accountNonce: count,
            kind: { type: 'string', enum: ['single', 'batch', 'noop', 'fund', 'refill'] },
            settlementIds: listOf(text),
            transactions: listOf(text),
            maxFeePerGasWei: text,
            ageMs: count,
          }),
        ),
      },
      {
        isShort: {
          type: 'boolean',
          description:
            'It was offered what costs more than it has, though it may pay for much else.',
        },
        treasury: TREASURY,
      },
    ),
    Overview: object({
      version: text,
      at: { ...count, description: 'Milliseconds since the epoch.' },
      apiKeys: {
        type: 'object',
        required: ['keys', 'loadedAt'],
        properties: { keys: count, loadedAt: count, code: text },
      },
      history: object({
        enabled: { type: 'boolean', description: 'Whether there is a database.' },
        webhooks: { type: 'boolean' },
        reconciles: { type: 'boolean', description: 'Every day, by itself.' },
        catalogue: { type: 'boolean', description: 'Whether there is a catalogue.' },
      }),
      processes: listOf(object({ process: text, roles: listOf(text), version: text })),
      networks: listOf(
        object({
          network: text,
          queue: object({ queued: count, oldestQueuedMs: count, unfinished: count }),
          headAgeMs: { type: ['integer', 'null'] },
          endpoints: object({ reachable: count, all: count }),
          lanes: listOf(reference('Lane')),
        }),
      ),
    }),
  },
};
