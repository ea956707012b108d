import { DENIALS_MOST } from '../../discovery/operators/moderation.js';
import { REASON_MAX } from '../../discovery/operators/moderation-request.js';
import {
  type Json,
  jsonAnswer,
  type JsonObject,
  KEY_ALWAYS,
  schemaRef,
} from '../../platform/http/openapi.js';
import { ADDRESS_SCHEMA } from '../../protocol/payment/wire-schemas.js';
import { ADMIN_REFUSALS } from './admin-refusals.openapi.js';

const text: JsonObject = { type: 'string' };
const count: JsonObject = { type: 'integer', minimum: 0 };
const moment: JsonObject = { type: 'string', format: 'date-time' };
const kind: JsonObject = { type: 'string', enum: ['payee', 'host'] };
const listOf = (items: JsonObject): JsonObject => ({ type: 'array', items });

function object(properties: JsonObject, optional: JsonObject = {}): JsonObject {
  return {
    type: 'object',
    required: Object.keys(properties),
    properties: { ...properties, ...optional },
  };
}

const value: JsonObject = { ...text, description: 'An address or a host, in lower case.' };

const reason: JsonObject = {
  ...text,
  minLength: 1,
  maxLength: REASON_MAX,
  description: 'It is kept for ever.',
};

export const ADMIN_CATALOGUE_SCHEMAS: Readonly<Record<string, JsonObject>> = {
  CatalogueDenial: object({
    kind,
    value,
    reason: text,
    at: moment,
    by: { ...text, description: 'Id of an API key; empty for one that was written by hand.' },
  }),
  CatalogueDenials: object({ denials: listOf(schemaRef('CatalogueDenial')) }, { next: text }),
  CatalogueEntries: object(
    {
      entries: listOf(
        object(
          {
            id: text,
            network: text,
            payTo: text,
            host: text,
            resource: text,
            call: text,
            type: { type: 'string', enum: ['http', 'mcp'] },
            otherPayees: count,
            state: {
              type: 'string',
              enum: ['listed', 'expired', 'denied'],
              description: '`expired`: nothing was paid for it in `CATALOGUE_DAYS`.',
            },
            firstPaidAt: moment,
            lastPaidAt: moment,
            denials: listOf(schemaRef('CatalogueDenial')),
          },
          { serviceName: text, description: text },
        ),
      ),
    },
    { next: text },
  ),
  CatalogueVerdict: {
    ...object({
      kind,
      value: {
        ...text,
        minLength: 1,
        description: 'An address; or a host without scheme, port and path.',
      },
      reason,
    }),
    additionalProperties: false,
  },
  CatalogueDenied: object({
    outcome: { type: 'string', enum: ['denied', 'unchanged'] },
    denial: schemaRef('CatalogueDenial'),
  }),
  CatalogueAllowed: object({
    outcome: {
      type: 'string',
      enum: ['allowed', 'unchanged'],
      description: '`unchanged`: it was not denied.',
    },
    kind,
    value,
  }),
};

const NO_CATALOGUE = jsonAnswer('There is no catalogue.', 'Problem', {
  error: 'This deployment keeps no catalogue.',
  code: 'catalogue_off',
});
const AWAY = jsonAnswer(
  'The catalogue cannot be asked now, or this takes it too long (`catalogue_too_slow`).',
  'Problem',
  { error: 'The catalogue cannot be asked now; ask again.', code: 'catalogue_unavailable' },
);
const WRONG_QUERY = jsonAnswer(
  'A parameter is wrong, or unknown, or `after` is of what is not there any more (`invalid_cursor`).',
  'Problem',
  { error: 'payTo must be an address: 0x and 40 hex digits.', code: 'invalid_query' },
);
const WRONG_BODY = jsonAnswer('A field is wrong, or not known.', 'Problem', {
  error: 'kind must be payee or host.',
  code: 'invalid_request',
});
const BODY_REFUSALS: JsonObject = {
  408: jsonAnswer('The body did not arrive in time.', 'Problem', {
    error: 'The body did not arrive in time.',
  }),
  413: jsonAnswer('Larger than `BODY_MAX_BYTES`.', 'Problem', { error: 'The body is too large.' }),
  415: jsonAnswer('A content encoding that is not gzip, deflate or br.', 'Problem', {
    error: 'The content encoding is not supported.',
  }),
};

/** As `moderation-request.ts` reads them. */
const PARAMETERS: Readonly<Record<string, JsonObject>> = {
  text: { ...text, maxLength: 400, description: 'Words of names, tags, URLs and descriptions.' },
  payTo: ADDRESS_SCHEMA,
  kind,
  host: { ...text, minLength: 1, description: 'Without scheme, port and path.' },
  value: { ...text, minLength: 1, description: 'An address or a host.' },
  limit: { type: 'integer', minimum: 1, maximum: 100, default: 50 },
  after: { ...text, minLength: 1, description: '`next` of the page before.' },
};

interface Read {
  readonly id: string;
  readonly summary: string;
  readonly query: readonly string[];
  readonly answer: string;
}

function read({ id, summary, query, answer }: Read): JsonObject {
  const parameters: Json[] = query.map((name) => ({
    name,
    in: 'query',
    schema: PARAMETERS[name] ?? text,
  }));
  return {
    get: {
      operationId: id,
      tags: ['Operators'],
      summary,
      security: KEY_ALWAYS,
      parameters,
      responses: {
        200: jsonAnswer('What was found.', answer),
        400: WRONG_QUERY,
        ...ADMIN_REFUSALS,
        501: NO_CATALOGUE,
        503: AWAY,
      },
    },
  };
}

interface Act {
  readonly id: string;
  readonly summary: string;
  readonly description: string;
  readonly body: string;
  readonly answer: string;
  readonly refusals?: JsonObject;
}

function act({ id, summary, description, body, answer, refusals }: Act): JsonObject {
  return {
    post: {
      operationId: id,
      tags: ['Operators'],
      summary,
      description,
      security: KEY_ALWAYS,
      requestBody: { required: true, content: { 'application/json': { schema: schemaRef(body) } } },
      responses: {
        200: jsonAnswer('It is done.', answer),
        400: WRONG_BODY,
        ...ADMIN_REFUSALS,
        ...BODY_REFUSALS,
        ...refusals,
        501: NO_CATALOGUE,
        503: AWAY,
      },
    },
  };
}

export const ADMIN_CATALOGUE_PATHS: Readonly<Record<string, JsonObject>> = {
  '/admin/api/catalogue/entries': read({
    id: 'moderatedEntries',
    summary: 'Entries of the catalogue, listed or not, and what hides them',
    query: ['text', 'payTo', 'host', 'limit', 'after'],
    answer: 'CatalogueEntries',
  }),
  '/admin/api/catalogue/denials': read({
    id: 'catalogueDenials',
    summary: 'Payees and hosts that are not listed, newest first',
    query: ['kind', 'value', 'limit', 'after'],
    answer: 'CatalogueDenials',
  }),
  '/admin/api/catalogue/deny': act({
    id: 'denyInCatalogue',
    summary: 'Denies a payee or a host',
    description:
      'At once, on every network: it hides what there is and refuses what comes. What operators did has it.',
    body: 'CatalogueVerdict',
    answer: 'CatalogueDenied',
    refusals: {
      409: jsonAnswer(`There are ${DENIALS_MOST} denials.`, 'Problem', {
        error: `${DENIALS_MOST} payees and hosts are denied: allow some that sell nothing any more.`,
        code: 'denials_full',
      }),
    },
  }),
  '/admin/api/catalogue/allow': act({
    id: 'allowInCatalogue',
    summary: 'Allows what was denied',
    description: 'What was not forgotten meanwhile is shown again. What operators did has it.',
    body: 'CatalogueVerdict',
    answer: 'CatalogueAllowed',
  }),
};
