import { applyDecorators, type Type } from '@nestjs/common';
import {
  ApiIncludeEndpoint,
  ApiOperation,
  ApiResponse,
  type ApiResponseNoStatusOptions,
} from '@nestjs/swagger';
import { REASONS } from '../../protocol/reasons.js';
import type { CodedError } from './coded-error.js';

/** A JSON value of an OpenAPI document or a JSON schema. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [name: string]: Json;
}

/**
 * The part of the OpenAPI 3.1 description that one module is answerable for. Names of components are
 * unique over all parts.
 */
export interface OpenApiPart {
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  /** Absent, as are schemas, where the decorators of controllers and classes say it all. */
  readonly paths?: Readonly<Record<string, JsonObject>>;
  readonly schemas?: Readonly<Record<string, JsonObject>>;
  /** Ways to be let in that only this module has. */
  readonly securitySchemes?: Readonly<Record<string, JsonObject>>;
}

export const schemaRef = (name: string): JsonObject => ({ $ref: `#/components/schemas/${name}` });

/**
 * A JSON answer. The example is compared with real answers by the e2e tests.
 *
 * @param schema - the class of the body, or the name of a schema that a part has.
 */
export function jsonAnswer(
  description: string,
  schema: string,
  example?: Json,
  headers?: readonly string[],
): JsonObject;
export function jsonAnswer(
  description: string,
  schema: Type | string,
  example?: Json,
  headers?: readonly string[],
): Answer;
export function jsonAnswer(
  description: string,
  schema: Type | string,
  example?: Json,
  headers?: readonly string[],
): Answer {
  const named = headers?.map((name) => [name, { $ref: `#/components/headers/${name}` }] as const);
  const common = {
    description,
    ...(named !== undefined && { headers: Object.fromEntries(named) }),
  };
  const shown = example !== undefined && { example };
  return typeof schema === 'string'
    ? { ...common, content: { 'application/json': { schema: schemaRef(schema), ...shown } } }
    : { ...common, type: schema, ...shown };
}

/** A refusal, as the error filters write it. */
export const problem = (
  description: string,
  example: JsonObject,
  headers?: readonly string[],
): JsonObject => jsonAnswer(description, 'Problem', example, headers);

/** A refusal as its error says it. */
export const problemOf = (description: string, { message, code }: CodedError): JsonObject =>
  problem(description, { error: message, code });

/** Headers of answers that are counted against a limit. */
export const RATE = ['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset'];

export const TOO_MANY = problem(
  'Too many requests.',
  { error: REASONS.rate_limited.meaning, reason: 'rate_limited' },
  ['Retry-After', ...RATE],
);

/** The answers to a body that cannot be read. */
export const BODY_REFUSALS: AnswersByStatus = {
  408: problem('The body did not arrive in time.', { error: 'The body did not arrive in time.' }),
  413: problem('Larger than `BODY_MAX_BYTES`.', { error: 'The body is too large.' }),
  415: problem('A content encoding that is not gzip, deflate or br.', {
    error: 'The content encoding is not supported.',
  }),
};

export const NO_KEY = problem(
  'No API key, or an unknown one.',
  { error: REASONS.unauthorized.meaning, reason: 'unauthorized' },
  ['WWW-Authenticate'],
);

/** An object of a schema, of which these properties are always there. */
export const object = (
  properties: JsonObject,
  optional: JsonObject = {},
  more: JsonObject = {},
): JsonObject => ({
  type: 'object',
  required: Object.keys(properties),
  properties: { ...properties, ...optional },
  ...more,
});

export const text = { type: 'string' } as const;
export const count = { type: 'integer', minimum: 0 } as const;
export const flag = { type: 'boolean' } as const;
export const moment = { type: 'string', format: 'date-time' } as const;
/** Of a class whose schema allows no further fields. */
export const CLOSED: object = { additionalProperties: false };
/** An object of any kind. */
export const free = { type: 'object', additionalProperties: true } as const;
/** @param items - a schema, or the name of one. */
export const listOf = (items: JsonObject | string): JsonObject => ({
  type: 'array',
  items: typeof items === 'string' ? schemaRef(items) : items,
});

/** An answer, as {@link jsonAnswer} makes it. */
export type Answer = JsonObject | ApiResponseNoStatusOptions;
export type AnswersByStatus = Readonly<Record<number, Answer>>;

/** The answers of a handler. A handler without is not described. */
export function Answers(answers: AnswersByStatus): MethodDecorator {
  return applyDecorators(
    ApiIncludeEndpoint(),
    ...Object.entries(answers).map(([status, answer]) =>
      ApiResponse({ status: Number(status), ...answer }),
    ),
  );
}

/**
 * Makes the decorator that describes handlers of one kind.
 *
 * @param common - answers that all of them have.
 */
export function describing(
  { tag, security }: { readonly tag: string; readonly security: Security },
  common: AnswersByStatus = {},
) {
  return (
    operationId: string,
    summary: string,
    answers: AnswersByStatus,
    description?: string,
  ): MethodDecorator =>
    applyDecorators(
      ApiOperation({
        operationId,
        tags: [tag],
        summary,
        ...(description !== undefined && { description }),
        security,
      }),
      Answers({ ...answers, ...common }),
    );
}

/** Security of a route: a key, a key where API keys are in use, a key in its own header, or open. */
export const KEY_NEEDED: Security = [{ apiKey: [] }, { bearer: [] }];
export const KEY_IF_IN_USE: Security = [{}, ...KEY_NEEDED];
export const KEY_ALWAYS: Security = [{ apiKey: [] }];
export const OPEN: Security = [{}];

export type Security = Record<string, string[]>[] & Json;
