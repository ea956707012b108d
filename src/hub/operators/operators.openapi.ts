import type { Type } from '@nestjs/common';
import {
  describing,
  jsonAnswer,
  type JsonObject,
  KEY_ALWAYS,
  object,
  type OpenApiPart,
  text,
} from '../../platform/http/openapi.js';
import { TAKEDOWNS_MOST } from './takedowns.service.js';

const TAG = 'Hub operators';
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

const Describes = describing({ tag: TAG, security: KEY_ALWAYS }, REFUSALS);

/** @param schema - of the answer. */
export const DescribesList = (
  operationId: string,
  summary: string,
  schema: Type,
): MethodDecorator => Describes(operationId, summary, { 200: jsonAnswer('The list.', schema) });

/** @param schema - of the answer. */
export const DescribesAct = (
  operationId: string,
  summary: string,
  schema: Type,
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
  schemas: { HubOperatorProblem: object({ error: text }, { code: text, reason: text }) },
};
