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

/** The part of the OpenAPI 3.1 document of one module. Names of components are unique over all parts. */
export interface OpenApiPart {
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  /** Absent if the decorators of controllers and classes contain everything. */
  readonly paths?: Readonly<Record<string, JsonObject>>;
  readonly schemas?: Readonly<Record<string, JsonObject>>;
  /** Authentication schemes of this module alone. */
  readonly securitySchemes?: Readonly<Record<string, JsonObject>>;
}

export const schemaRef = (name: string): JsonObject => ({ $ref: `#/components/schemas/${name}` });

/**
 * A JSON answer. The e2e tests compare the example with real answers.
 *
 * @param schema - the class of the body, or the name of a schema in a part.
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

/** A refusal in the format of the error filters. */
export const problem = (
  description: string,
  example: JsonObject,
  headers?: readonly string[],
): JsonObject => jsonAnswer(description, 'Problem', example, headers);

/** A refusal with the text of its error. */
export const problemOf = (description: string, { message, code, place }: CodedError): JsonObject =>
  problem(description, { error: message, code, ...place });

/** Headers of rate-limited answers. */
export const RATE = ['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset'];

export const TOO_MANY = problem('Too many requests.', { error: REASONS.rate_limited.meaning }, [
  'Retry-After',
  ...RATE,
]);

/** The refusals of malformed bodies. */
export const BODY_REFUSALS: AnswersByStatus = {
  408: problem('The body did not arrive in time.', { error: 'The body did not arrive in time.' }),
  413: problem('The body is larger than `BODY_MAX_BYTES`.', { error: 'The body is too large.' }),
  415: problem('A content encoding that is not gzip, deflate or br.', {
    error: 'The content encoding is not supported.',
  }),
};

export const NO_KEY = problem(
  'The API key is missing or unknown.',
  { error: REASONS.unauthorized.meaning },
  ['WWW-Authenticate'],
);

/** A schema of an object with these required properties. */
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

/** Fields of a refusal that say where a request is wrong. */
export const PLACE = {
  path: {
    ...text,
    description:
      'The first wrong field; `body` or `query` for the whole. Absent if no single field is wrong.',
  },
  expected: text,
  got: {
    ...text,
    description:
      'A number, true, false or null as sent, otherwise the kind. Of a text its length alone.',
  },
} satisfies JsonObject;
export const count = { type: 'integer', minimum: 0 } as const;
export const flag = { type: 'boolean' } as const;
export const moment = { type: 'string', format: 'date-time' } as const;
/** Marks a schema that allows no further fields. */
export const CLOSED: object = { additionalProperties: false };
/** Marks a schema that names only some of the fields. */
export const OPEN_ENDED: object = { additionalProperties: true };
/** Gives a schema examples, which are shown wherever it is a body. */
export const withExamples = (...examples: readonly JsonObject[]): object => ({ examples });
/** Any object. */
export const free = { type: 'object', additionalProperties: true } as const;
/** @param items - a schema, or its name. */
export const listOf = (items: JsonObject | string): JsonObject => ({
  type: 'array',
  items: typeof items === 'string' ? schemaRef(items) : items,
});

/** An answer made by {@link jsonAnswer}. */
export type Answer = JsonObject | ApiResponseNoStatusOptions;
export type AnswersByStatus = Readonly<Record<number, Answer>>;

/** The answers of a handler. A handler without them is not in the document. */
export function Answers(answers: AnswersByStatus): MethodDecorator {
  return applyDecorators(
    ApiIncludeEndpoint(),
    ...Object.entries(answers).map(([status, answer]) =>
      ApiResponse({ status: Number(status), ...answer }),
    ),
  );
}

/**
 * Makes a decorator that describes handlers of one kind.
 *
 * @param common - answers of all of them.
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

/** Security of a route: a required key, a key if API keys are in use, a key in another header, or none. */
export const KEY_NEEDED: Security = [{ apiKey: [] }, { bearer: [] }];
export const KEY_IF_IN_USE: Security = [{}, ...KEY_NEEDED];
export const KEY_ALWAYS: Security = [{ apiKey: [] }];
export const OPEN: Security = [{}];

export type Security = Record<string, string[]>[] & Json;
