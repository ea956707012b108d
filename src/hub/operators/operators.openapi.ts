import {
  type Json,
  jsonAnswer,
  type JsonObject,
  KEY_ALWAYS,
  type OpenApiPart,
  schemaRef,
} from '../../platform/http/openapi.js';
import { REASON_MAX } from './takedown-request.js';
import { TAKEDOWNS_MOST } from './takedowns.service.js';

const TAG = 'Hub operators';
const text: JsonObject = { type: 'string' };
const count: JsonObject = { type: 'integer', minimum: 0 };
const moment: JsonObject = { type: 'string', format: 'date-time' };
const digest: JsonObject = { type: 'string', pattern: '^[0-9a-f]{64}$' };
/** As it may be asked for. */
const asked: JsonObject = { type: 'string', pattern: '^(0[xX])?[0-9a-fA-F]{64}$' };
const named: JsonObject = { type: 'string', minLength: 1 };
const reason: JsonObject = {
  ...text,
  minLength: 1,
  maxLength: REASON_MAX,
  description: 'It is told to whoever asks for the file, and kept for ever.',
};

function object(properties: JsonObject, optional: JsonObject = {}): JsonObject {
  return {
    type: 'object',
    required: Object.keys(properties),
    properties: { ...properties, ...optional },
  };
}

const TAKEDOWN: JsonObject = {
  sha256: digest,
  owner: text,
  name: text,
  reason: text,
  at: moment,
  by: { ...text, description: 'Id of an API key.' },
};

const problem = (description: string, error: string, code?: string): JsonObject =>
  jsonAnswer(description, 'HubOperatorProblem', { error, ...(code !== undefined && { code }) });

const REFUSALS: JsonObject = {
  400: problem('A parameter or a field is wrong, or not known.', 'wrong', 'invalid_request'),
  401: problem('No API key, or an unknown one.', 'An API key that is known here is required.'),
  403: problem('A key without the scope `admin`.', 'The API key does not allow this.'),
  503: problem('Storage or index cannot be used now; it may be done.', 'ask again'),
};
const BODY_REFUSALS: JsonObject = {
  408: problem('The body did not arrive in time.', 'The body did not arrive in time.'),
  413: problem('Larger than `BODY_MAX_BYTES`.', 'The body is too large.'),
  415: problem('A content encoding that is not known.', 'The content encoding is not supported.'),
};

function read(operationId: string, summary: string, answer: string): JsonObject {
  const parameters: Json = [
    {
      name: 'limit',
      in: 'query',
      schema: { type: 'integer', minimum: 1, maximum: 100, default: 50 },
    },
    {
      name: 'offset',
      in: 'query',
      schema: { type: 'integer', minimum: 0, maximum: 999_999_999, default: 0 },
      description: 'Rows to leave out.',
    },
  ];
  return {
    get: {
      operationId,
      tags: [TAG],
      summary,
      security: KEY_ALWAYS,
      parameters,
      responses: { 200: jsonAnswer('What there is.', answer), ...REFUSALS },
    },
  };
}

function act(
  operationId: string,
  summary: string,
  schemas: { readonly body: string; readonly answer: string },
  refusals: JsonObject = {},
): JsonObject {
  const content: JsonObject = { 'application/json': { schema: schemaRef(schemas.body) } };
  return {
    post: {
      operationId,
      tags: [TAG],
      summary,
      security: KEY_ALWAYS,
      requestBody: { required: true, content },
      responses: {
        200: jsonAnswer('It is done.', schemas.answer),
        ...REFUSALS,
        ...BODY_REFUSALS,
        ...refusals,
      },
    },
  };
}

/** Takedowns; there where there are API keys and an operators' port. */
export const HUB_OPERATORS_OPENAPI: OpenApiPart = {
  tags: [{ name: TAG, description: 'What operators of the file hub do, at their own port.' }],
  paths: {
    '/admin/api/hub/takedowns': read(
      'hubTakedowns',
      'Bytes that are served to nobody, the newest first',
      'HubTakedowns',
    ),
    '/admin/api/hub/acts': read(
      'hubActs',
      'Every takedown and putting back, the newest first',
      'HubActs',
    ),
    '/admin/api/hub/takedown': act(
      'hubTakeDown',
      'Serves bytes to nobody, under whatever names',
      { body: 'HubTakedownWanted', answer: 'HubTakenDown' },
      {
        404: problem('There is no file of this name.', 'There is no such file.', 'no_such_file'),
        409: problem(`${TAKEDOWNS_MOST} are taken down.`, 'too many', 'takedowns_full'),
      },
    ),
    '/admin/api/hub/restore': act('hubRestore', 'Serves bytes again', {
      body: 'HubRestorationWanted',
      answer: 'HubRestored',
    }),
  },
  schemas: {
    HubTakedown: object(TAKEDOWN),
    HubTakedowns: object({
      takedowns: { type: 'array', items: schemaRef('HubTakedown') },
      count: { ...count, description: 'Of all that is taken down.' },
    }),
    HubActs: object({
      acts: {
        type: 'array',
        items: object({
          action: { type: 'string', enum: ['taken_down', 'restored'] },
          ...TAKEDOWN,
        }),
      },
    }),
    HubTakedownWanted: {
      ...object({ reason }, { sha256: asked, owner: named, name: named }),
      additionalProperties: false,
      description:
        'Either `sha256`, or `owner` and `name`: what the name stands for and is sold by.',
    },
    HubTakenDown: object({
      outcome: { type: 'string', enum: ['taken_down', 'unchanged'] },
      takedowns: { type: 'array', items: schemaRef('HubTakedown') },
    }),
    HubRestorationWanted: { ...object({ sha256: asked, reason }), additionalProperties: false },
    HubRestored: object({
      outcome: { type: 'string', enum: ['restored', 'unchanged'] },
      sha256: digest,
    }),
    HubOperatorProblem: object({ error: text }, { code: text, reason: text }),
  },
};
