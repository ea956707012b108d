import { applyDecorators } from '@nestjs/common';
import { ApiOperation, type ApiOperationOptions, ApiParam } from '@nestjs/swagger';
import {
  type Answer,
  Answers,
  type AnswersByStatus,
  type Json,
  jsonAnswer,
  type JsonObject,
  OPEN,
  schemaRef,
} from '../../platform/http/openapi.js';
import { ID } from '../http/dto/tokens.response.js';

export const HasId = (): MethodDecorator => ApiParam({ name: 'id', schema: ID });

/** For a route that needs a token of the wallet. */
export const TOKEN: Json & Record<string, string[]>[] = [{ walletToken: [] }];

export const refusal = (
  description: string,
  example: JsonObject,
  headers?: readonly string[],
): JsonObject => jsonAnswer(description, 'WalletRefusal', example, headers);

/** Answers that any route may give. */
const COMMON: AnswersByStatus = {
  400: refusal('It cannot be understood.', {
    error: 'limit: must be a whole number',
    code: 'invalid_request',
    path: 'limit',
    expected: 'a whole number',
    got: 'text of 1 character',
  }),
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
const WITH_BODY: AnswersByStatus = {
  408: refusal('The body did not come in time.', { error: 'The body did not arrive in time.' }),
  413: refusal('The body is too large.', { error: 'The body is too large.' }),
};
export const WITH_TOKEN = {
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
/** Answers to an invalid signature or passkey. */
export const UNSIGNED: AnswersByStatus = { 401: WITH_TOKEN[401] };
export const FORBIDDEN = {
  403: refusal('A rule says no, or what is asked for is not for this token.', {
    error: 'The amount is above what is left of the budget: 0.9 of 1 in 24 hours.',
    code: 'policy_violation',
    rule: 'budget',
    howToChange: 'The owner signs in and sends new rules. An agent cannot change the rules.',
  }),
};
export const CONFLICT = {
  409: refusal('It was used for something else before.', {
    error: 'This intent was used for another request before.',
    code: 'conflict',
  }),
};
export const NOT_FOUND = {
  404: refusal('There is no such thing.', {
    error: 'There is no such intent.',
    code: 'not_found',
  }),
};
/** Of routes that call a seller or a hub. */
export const OUTSIDE = {
  422: refusal('The seller asks for what this wallet cannot pay.', {
    error: 'The server asks for payment, but not by x402.',
    code: 'no_acceptable_offer',
  }),
  502: refusal('The other service did not answer, or the outcome is not known.', {
    error: 'The server could not be reached.',
    code: 'fetch_failed',
  }),
};

interface Facts {
  readonly answer: Answer;
  readonly description?: string;
  /** Answers beyond those of every route. */
  readonly more?: AnswersByStatus;
  readonly security?: Record<string, string[]>[];
  /** Its handler takes a body, which the DTO class describes. */
  readonly hasBody?: boolean;
  /** The schema of a body that no DTO class describes, or its name, with an example. */
  readonly body?: readonly [schema: JsonObject | string, example?: Json];
}

/** The description of a handler; its DTO classes describe what it takes. */
export const Describes = (operationId: string, summary: string, facts: Facts): MethodDecorator =>
  applyDecorators(
    ApiOperation(operationOf(operationId, summary, facts)),
    Answers(answersOf(facts)),
  );

export const operationOf = (
  operationId: string,
  summary: string,
  { description, body, security = OPEN }: Facts,
): ApiOperationOptions => ({
  operationId,
  tags: ['Agent wallet'],
  summary,
  security,
  ...(description !== undefined && { description }),
  ...(body !== undefined && { requestBody: requestBodyOf(...body) }),
});

export const answersOf = ({
  answer,
  more,
  security,
  body,
  hasBody = body !== undefined,
}: Facts): AnswersByStatus => ({
  200: answer,
  ...COMMON,
  ...(hasBody && WITH_BODY),
  ...(security === TOKEN && WITH_TOKEN),
  ...more,
});

/** The same of a route that needs a token. */
export const DescribesWithToken = (
  operationId: string,
  summary: string,
  facts: Omit<Facts, 'security'>,
): MethodDecorator => Describes(operationId, summary, { ...facts, security: TOKEN });

const requestBodyOf = (schema: JsonObject | string, example?: Json) => ({
  required: true,
  description: 'JSON, whatever its content type says.',
  content: {
    'application/json': {
      schema: typeof schema === 'string' ? schemaRef(schema) : schema,
      ...(example !== undefined && { example }),
    },
  },
});
