import { applyDecorators } from '@nestjs/common';
import { ApiOperation } from '@nestjs/swagger';
import {
  Answers,
  type Json,
  jsonAnswer,
  type JsonObject,
  OPEN,
} from '../../platform/http/openapi.js';

/** Of a route that needs a token of the wallet. */
export const TOKEN: Json = [{ walletToken: [] }];

export const text = { type: 'string' };
export const object = (
  properties: Readonly<Record<string, JsonObject>>,
  more: JsonObject = {},
): JsonObject => ({
  type: 'object',
  required: Object.keys(properties),
  properties,
  ...more,
});

export const refusal = (
  description: string,
  example: JsonObject,
  headers?: readonly string[],
): JsonObject => jsonAnswer(description, 'WalletRefusal', example, headers);

/** What any route may answer. */
const COMMON: JsonObject = {
  400: refusal('It cannot be understood.', { error: 'The body is not JSON.' }),
  429: refusal(
    'Too many requests.',
    { error: 'Too many requests.', code: 'rate_limited', retryAfterSeconds: 20 },
    ['Retry-After'],
  ),
  503: refusal('Redis, the chain or the provider cannot be asked now. Ask again.', {
    error: 'The wallet is unavailable. Try again.',
    code: 'unavailable',
  }),
};
const WITH_BODY: JsonObject = {
  408: refusal('The body did not come in time.', { error: 'The body did not arrive in time.' }),
  413: refusal('The body is too large.', { error: 'The body is too large.' }),
};
export const WITH_TOKEN: JsonObject = {
  401: refusal(
    'No token, or none that is good.',
    { error: 'authorization token has expired', code: 'unauthorized' },
    ['WWW-Authenticate'],
  ),
  423: refusal('Locked until it is restored from the journal, after a loss of Redis.', {
    error: 'The wallet is locked.',
    code: 'wallet_locked',
  }),
};
/** Of a signature, or a passkey, that is not good. */
export const UNSIGNED: JsonObject = { 401: WITH_TOKEN['401'] ?? {} };
export const FORBIDDEN: JsonObject = {
  403: refusal('A rule says no, or what is asked for is not for this token.', {
    error: 'It is more than is left of the budget: 0.9 of 1 in 24 hours.',
    code: 'policy_violation',
    rule: 'budget',
    howToChange: 'The owner signs in and sends new rules. An agent cannot.',
  }),
};
export const CONFLICT: JsonObject = {
  409: refusal('It was used for something else before.', {
    error: 'This intent was used for another request before.',
    code: 'conflict',
  }),
};
export const NOT_FOUND: JsonObject = {
  404: refusal('There is no such thing.', {
    error: 'There is no such intent.',
    code: 'not_found',
  }),
};
/** Of routes that ask somebody else. */
export const OUTSIDE: JsonObject = {
  422: refusal('The seller asks for what this wallet cannot pay.', {
    error: 'The server asks for payment, but not by x402.',
    code: 'no_acceptable_offer',
  }),
  502: refusal('Somebody else did not answer, or it is not known what came of it.', {
    error: 'The server could not be reached.',
    code: 'fetch_failed',
  }),
};

interface Facts {
  readonly answer: JsonObject;
  readonly body?: JsonObject;
  readonly parameters?: Json;
  readonly description?: string;
  /** Answers beyond those of every route. */
  readonly more?: JsonObject;
}

export function operation(
  operationId: string,
  summary: string,
  security: Json,
  { answer, body, parameters, description, more }: Facts,
): JsonObject {
  return {
    operationId,
    tags: ['Agent wallet'],
    summary,
    security,
    ...(description !== undefined && { description }),
    ...(parameters !== undefined && { parameters }),
    ...(body !== undefined && { requestBody: body }),
    responses: {
      200: answer,
      ...COMMON,
      ...(body !== undefined && WITH_BODY),
      ...(security === TOKEN && WITH_TOKEN),
      ...more,
    },
  };
}

interface DecoratedFacts extends Omit<Facts, 'body' | 'parameters'> {
  readonly security?: Json;
  /** Its handler takes a body, which the DTO class describes. */
  readonly hasBody?: boolean;
}

/** The description of a handler; its DTO classes describe what it takes. */
export const Describes = (
  operationId: string,
  summary: string,
  { answer, description, more = {}, security = OPEN, hasBody = false }: DecoratedFacts,
): MethodDecorator =>
  applyDecorators(
    ApiOperation({
      operationId,
      tags: ['Agent wallet'],
      summary,
      security: security as Record<string, string[]>[],
      ...(description !== undefined && { description }),
    }),
    Answers({
      200: answer,
      ...COMMON,
      ...(hasBody && WITH_BODY),
      ...(security === TOKEN && WITH_TOKEN),
      ...more,
    }),
  );

export const json = (schema: JsonObject, example?: Json): JsonObject => ({
  required: true,
  description: 'JSON, whatever its content type says.',
  content: { 'application/json': { schema, ...(example !== undefined && { example }) } },
});
