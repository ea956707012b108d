import type { Type } from '@nestjs/common';
import {
  describing,
  jsonAnswer,
  type JsonObject,
  KEY_ALWAYS,
  object,
  type OpenApiPart,
  PLACE,
  text,
} from '../../platform/http/openapi.js';
import { REASONS } from '../../protocol/reasons.js';
import { TAKEDOWNS_MOST } from './takedowns.service.js';

const TAG = 'Hub operators';
const problem = (description: string, error: string, code?: string): JsonObject =>
  jsonAnswer(description, 'HubOperatorProblem', { error, ...(code !== undefined && { code }) });

type Responses = Readonly<Record<number, JsonObject>>;

const REFUSALS: Responses = {
  400: problem('A parameter or a field is malformed or unknown.', 'wrong', 'invalid_request'),
  401: problem('The API key is missing or unknown.', REASONS.unauthorized.meaning),
  403: problem(
    'The API key lacks the scope `admin`.',
    'This API key does not have the scope `admin`.',
  ),
  503: problem(
    'The storage or the index is unavailable. The change may already be stored.',
    'ask again',
  ),
};
const BODY_REFUSALS: Responses = {
  408: problem('The body did not arrive in time.', 'The body did not arrive in time.'),
  413: problem('The body is larger than `BODY_MAX_BYTES`.', 'The body is too large.'),
  415: problem(
    'A content encoding that is not supported.',
    'The content encoding is not supported.',
  ),
};
export const TAKEDOWN_REFUSALS: Responses = {
  404: problem('There is no file of this name.', 'There is no such file.', 'no_such_file'),
  409: problem(
    `${TAKEDOWNS_MOST} files are taken down, which is the maximum.`,
    'too many',
    'takedowns_full',
  ),
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

/** Takedowns; present where there are API keys and an operators' port. */
export const HUB_OPERATORS_OPENAPI: OpenApiPart = {
  tags: [{ name: TAG, description: 'What operators of the file hub do, at their own port.' }],
  schemas: { HubOperatorProblem: object({ error: text, code: text }, PLACE) },
};
