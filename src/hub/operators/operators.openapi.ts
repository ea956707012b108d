import { applyDecorators } from '@nestjs/common';
import { ApiOperation } from '@nestjs/swagger';
import {
  Answers,
  count,
  jsonAnswer,
  type JsonObject,
  KEY_ALWAYS,
  listOf,
  moment,
  object,
  type OpenApiPart,
  text,
} from '../../platform/http/openapi.js';
import { TAKEDOWNS_MOST } from './takedowns.service.js';

const TAG = 'Hub operators';
const digest: JsonObject = { type: 'string', pattern: '^[0-9a-f]{64}$' };

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

type Responses = Readonly<Record<number, JsonObject>>;

const REFUSALS: Responses = {
  400: problem('A parameter or a field is malformed or unknown.', 'wrong', 'invalid_request'),
  401: problem('No API key, or an unknown one.', 'A valid API key is required.'),
  403: problem(
    'A key without the scope `admin`.',
    'The API key does not have the scope that this request needs.',
  ),
  503: problem('Storage or index is unavailable now; the change may have been made.', 'ask again'),
};
const BODY_REFUSALS: Responses = {
  408: problem('The body did not arrive in time.', 'The body did not arrive in time.'),
  413: problem('Larger than `BODY_MAX_BYTES`.', 'The body is too large.'),
  415: problem('A content encoding that is not known.', 'The content encoding is not supported.'),
};
export const TAKEDOWN_REFUSALS: Responses = {
  404: problem('There is no file of this name.', 'There is no such file.', 'no_such_file'),
  409: problem(`${TAKEDOWNS_MOST} are taken down.`, 'too many', 'takedowns_full'),
};

const Describes = (operationId: string, summary: string, answers: Responses): MethodDecorator =>
  applyDecorators(
    ApiOperation({ operationId, tags: [TAG], summary, security: KEY_ALWAYS }),
    Answers({ ...answers, ...REFUSALS }),
  );

/** @param operationId - its schema is named like it. */
export const DescribesList = (
  operationId: 'hubTakedowns' | 'hubActs',
  summary: string,
): MethodDecorator => {
  const schema = operationId === 'hubActs' ? 'HubActs' : 'HubTakedowns';
  return Describes(operationId, summary, { 200: jsonAnswer('What there is.', schema) });
};

/** @param schema - of the answer. */
export const DescribesAct = (
  operationId: string,
  summary: string,
  schema: string,
  refusals: Responses = {},
): MethodDecorator =>
  Describes(operationId, summary, {
    200: jsonAnswer('It is done.', schema),
    ...BODY_REFUSALS,
    ...refusals,
  });

/** Takedowns; there where there are API keys and an operators' port. */
export const HUB_OPERATORS_OPENAPI: OpenApiPart = {
  tags: [{ name: TAG, description: 'What operators of the file hub do, at their own port.' }],
  schemas: {
    HubTakedown: object(TAKEDOWN),
    HubTakedowns: object({
      takedowns: listOf('HubTakedown'),
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
    HubTakenDown: object({
      outcome: { type: 'string', enum: ['taken_down', 'unchanged'] },
      takedowns: listOf('HubTakedown'),
    }),
    HubRestored: object({
      outcome: { type: 'string', enum: ['restored', 'unchanged'] },
      sha256: digest,
    }),
    HubOperatorProblem: object({ error: text }, { code: text, reason: text }),
  },
};
