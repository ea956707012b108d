import { VERSION } from '../config/version.js';
import { codeOf } from '../http/error.filter.js';
import type { JsonObject, OpenApiPart } from '../http/openapi.js';

const HEADERS: JsonObject = {
  'Settlement-Id': {
    description: 'The settlement this answer is about; see `/v2/settlements/{id}`.',
    schema: { type: 'string' },
  },
  'Settle-Finality': {
    description: 'How certain the chain is at which this answer speaks.',
    schema: { type: 'string', enum: ['included', 'finalized'] },
  },
  'EXTENSION-RESPONSES': {
    description:
      'What becomes of what was declared beside the payment: JSON in base64. Only where something was.',
    schema: { type: 'string' },
  },
  'X-Simulated': {
    description: 'The answer was played, by `X-Simulate`: no money moved, and none will.',
    schema: { type: 'string', const: 'true' },
  },
  'Retry-After': {
    description: 'Seconds after which to ask again.',
    schema: { type: 'integer', minimum: 1 },
  },
  'RateLimit-Limit': {
    description: 'Requests a second. Only where a limit is set, as are the two below.',
    schema: { type: 'integer' },
  },
  'RateLimit-Remaining': {
    description: 'Requests that may come at once now.',
    schema: { type: 'integer' },
  },
  'RateLimit-Reset': {
    description: 'Seconds until as many may come as the limit says.',
    schema: { type: 'integer' },
  },
  Location: { description: 'Where to look the settlement up.', schema: { type: 'string' } },
  'WWW-Authenticate': {
    description: 'The ways to show a key.',
    schema: { type: 'string' },
  },
};

const RESPONSES: JsonObject = {
  HeadersTooLong: {
    description: 'Request line and headers are longer than 16 KiB. The answer has no body.',
  },
};

/** Schemas of error answers, to which the error filter adds a code by the status. */
const PROBLEMS = /\/(?:Problem|ProblemOrChainUse|HubOperatorProblem|WalletRefusal)$/;

interface Content {
  readonly schema?: { readonly $ref?: string };
  readonly example?: JsonObject;
}

/** Examples of errors, with the code that the error filter adds. */
function withCodes(responses: JsonObject): JsonObject {
  const entries = Object.entries(
    responses as Record<string, { content?: Record<string, Content> }>,
  );
  return Object.fromEntries(
    entries.map(([status, response]) => {
      const content = response.content?.['application/json'];
      const { schema, example } = content ?? {};
      const isProblem = PROBLEMS.test(schema?.$ref ?? '') && typeof example?.['error'] === 'string';
      if (!isProblem || 'code' in example) return [status, response as JsonObject];
      const { error, ...rest } = example;
      const code = codeOf(Number(status));
      const coded = { ...content, example: { error, code, ...rest } } as JsonObject;
      return [status, { ...(response as JsonObject), content: { 'application/json': coded } }];
    }),
  );
}

/** The operations of a path, each with the refusals that come before any route. */
function bounded(item: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(item as Record<string, { responses: JsonObject }>).map(([method, operation]) => [
      method,
      {
        ...operation,
        responses: {
          ...withCodes(operation.responses),
          431: { $ref: '#/components/responses/HeadersTooLong' },
        },
      },
    ]),
  );
}

/** The OpenAPI 3.1 document of a process, combined from its modules. */
export function openApiDocument(parts: readonly OpenApiPart[]): JsonObject {
  return {
    openapi: '3.1.1',
    info: {
      title: 'x402 facilitator',
      version: VERSION,
      summary: 'Verifies x402 payments and settles each of them once.',
      description:
        'Every settle has one true answer. A request that is an envelope, a JSON object with an object ' +
        'under both `paymentPayload` and `paymentRequirements`, is answered with 200 and data, however ' +
        'wrong it is inside; `invalidReason` and `errorReason` say what. 4xx is for what is no envelope, ' +
        'for a missing key, a key conflict and too many requests.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/', description: 'this service' }],
    tags: parts.flatMap(({ tags }) => tags.map((tag) => ({ ...tag }))),
    paths: Object.fromEntries(
      parts
        .flatMap(({ paths = {} }) => Object.entries(paths))
        .map(([path, item]) => [path, bounded(item)]),
    ),
    components: {
      schemas: Object.assign({}, ...parts.map(({ schemas }) => schemas)) as JsonObject,
      headers: HEADERS,
      responses: RESPONSES,
      securitySchemes: {
        apiKey: {
          type: 'apiKey',
          in: 'header',
          name: 'X-API-Key',
          description: 'Where API keys are in use; else everything but `/admin` is open.',
        },
        bearer: {
          type: 'http',
          scheme: 'bearer',
          description: 'The same key, for verify and settle.',
        },
        ...(Object.assign(
          {},
          ...parts.map(({ securitySchemes }) => securitySchemes),
        ) as JsonObject),
      },
    },
  };
}
