import {
  type Json,
  jsonAnswer,
  type JsonObject,
  KEY_IF_IN_USE,
  OPEN,
  type OpenApiPart,
  RATE,
  schemaRef,
} from '../../platform/http/openapi.js';
import { NO_SUCH_SETTLEMENT } from '../../platform/http/settlement-id.pipe.js';
import { SIMULATED_OUTCOMES } from '../simulation/outcomes.js';
import { PAYMENT_QUERY_USAGE } from '../status/payment-query.js';
import { ACCEPTS_SCHEMAS, acceptsPath } from './accepts.openapi.js';
import * as examples from './examples.js';
import { FACILITATOR_SCHEMAS } from './schemas.js';

const SETTLE = [
  'Settlement-Id',
  'Settle-Finality',
  'Retry-After',
  'EXTENSION-RESPONSES',
  'X-Simulated',
];
const EMPTY = 'The body is empty; a JSON object is expected.';

type Refusal = typeof examples.verifyRefusal;

/** What verify and settle answer to what is no envelope, by status. */
function refusals(schema: string, refusal: Refusal, statuses: readonly number[]): JsonObject {
  const all: Readonly<Record<number, JsonObject>> = {
    400: jsonAnswer('Not an envelope.', schema, refusal('invalid_payload', EMPTY)),
    401: jsonAnswer('No API key, or an unknown one.', schema, refusal('unauthorized'), [
      'WWW-Authenticate',
    ]),
    403: jsonAnswer('The API key lacks the scope.', schema, refusal('forbidden')),
    408: jsonAnswer(
      'The body did not arrive in time.',
      schema,
      refusal('invalid_payload', 'The body did not arrive in time.'),
    ),
    413: jsonAnswer(
      'Larger than `BODY_MAX_BYTES`.',
      schema,
      refusal('invalid_payload', 'The body is too large.'),
    ),
    415: jsonAnswer(
      'A content encoding that is not gzip, deflate or br.',
      schema,
      refusal('invalid_payload', 'The content encoding is not supported.'),
    ),
    429: jsonAnswer('Too many requests.', schema, refusal('rate_limited'), [
      'Retry-After',
      ...RATE,
    ]),
  };
  return Object.fromEntries(statuses.map((status) => [String(status), all[status] ?? {}]));
}

const header = (name: string, description: string, schema: JsonObject): JsonObject => ({
  name,
  in: 'header',
  description,
  schema,
});

const IDEMPOTENCY = header(
  'Idempotency-Key',
  'One per order of yours, not guessable, never made from the payment. The same key with the same ' +
    'payment gets the same answer each time, and while it is bound no other key gets success; with ' +
    'another payment it is refused with 409. It belongs to the API key, or to payee and payer.',
  { type: 'string', minLength: 1, maxLength: 256 },
);

const SIMULATE = header(
  'X-Simulate',
  'For tests of sellers, with an API key that has the scope `simulate`, on test networks: this outcome is ' +
    'played, and nothing is settled. The answer has the header `X-Simulated`.',
  { type: 'string', enum: [...SIMULATED_OUTCOMES] },
);

const SETTLE_HEADERS: Json = [
  IDEMPOTENCY,
  header(
    'Settle-Finality',
    'The finality that the payment must reach before success is answered.',
    {
      type: 'string',
      enum: ['included', 'finalized'],
    },
  ),
  header('Prefer', '`respond-async` hands the settlement out at once, with 202 (RFC 7240).', {
    type: 'string',
    minLength: 1,
    examples: ['respond-async'],
  }),
  SIMULATE,
];

const QUERY_PARAMETERS: Json = ['paymentPayload', 'paymentRequirements'].map((name) => ({
  name,
  in: 'query',
  description: 'A JSON object in base64url. Without both the endpoint describes itself.',
  schema: { type: 'string', minLength: 1, pattern: '^[A-Za-z0-9_-]+$' },
}));

interface Version {
  readonly prefix: '' | '/v1' | '/v2';
  readonly name: 'Root' | 'V1' | 'V2';
  readonly schema: JsonObject;
  readonly examples: JsonObject;
}

const V1 = { v1: { summary: 'V1', value: examples.REQUEST_V1 } };
const V2 = {
  v2: { summary: 'V2, EIP-3009', value: examples.REQUEST_V2 },
  upto: { summary: 'V2, upto, settling 400 of 1000', value: examples.REQUEST_UPTO },
};

const VERSIONS: readonly Version[] = [
  { prefix: '/v2', name: 'V2', schema: schemaRef('RequestV2'), examples: V2 },
  { prefix: '/v1', name: 'V1', schema: schemaRef('RequestV1'), examples: V1 },
  {
    prefix: '',
    name: 'Root',
    schema: { anyOf: [schemaRef('RequestV2'), schemaRef('RequestV1')] },
    examples: { ...V2, ...V1 },
  },
];

function pathsOf({
  prefix,
  name,
  schema,
  examples: requests,
}: Version): Record<string, JsonObject> {
  const where = prefix === '' ? 'by the payload’s own version' : name;
  const requestBody = {
    required: true,
    content: { 'application/json': { schema, examples: requests } },
  };
  return {
    [`${prefix}/verify`]: {
      post: {
        operationId: `verify${name}`,
        tags: ['x402'],
        summary: `Verifies a payment (${where})`,
        description: 'Changes nothing.',
        security: KEY_IF_IN_USE,
        parameters: [IDEMPOTENCY],
        requestBody,
        responses: {
          200: jsonAnswer('The verdict.', 'VerifyAnswer', examples.VERIFIED, RATE),
          ...refusals('VerifyAnswer', examples.verifyRefusal, [400, 401, 403, 408, 413, 415, 429]),
        },
      },
      get: {
        operationId: `verify${name}ByQuery`,
        tags: ['x402'],
        summary: `Verifies a payment by link, or describes this endpoint (${where})`,
        security: KEY_IF_IN_USE,
        parameters: QUERY_PARAMETERS,
        responses: {
          200: jsonAnswer(
            'The verdict, or the description.',
            'VerifyOrDescription',
            undefined,
            RATE,
          ),
          400: jsonAnswer(
            'The query does not decode.',
            'VerifyAnswer',
            examples.verifyRefusal('invalid_payload', PAYMENT_QUERY_USAGE),
          ),
          ...refusals('VerifyAnswer', examples.verifyRefusal, [401, 403, 429]),
        },
      },
    },
    [`${prefix}/settle`]: {
      post: {
        operationId: `settle${name}`,
        tags: ['x402'],
        summary: `Settles a payment once (${where})`,
        description:
          'Deliver when `success` is true, and only then. One request gets it; all others get ' +
          '`duplicate_settlement`. On `settlement_pending`, which carries a hash, send the same request again.',
        security: KEY_IF_IN_USE,
        parameters: SETTLE_HEADERS,
        requestBody,
        responses: {
          200: jsonAnswer(
            'The one true answer, or what is known so far.',
            'SettleAnswer',
            examples.SETTLED,
            [...SETTLE, ...RATE],
          ),
          202: jsonAnswer(
            'Accepted for this request, by `Prefer: respond-async`.',
            'SettleAnswer',
            examples.ACCEPTED,
            ['Settlement-Id', 'Settle-Finality', 'Location', 'X-Simulated'],
          ),
          409: jsonAnswer(
            'This Idempotency-Key came with another payment before.',
            'SettleAnswer',
            examples.KEY_CONFLICT,
          ),
          ...refusals('SettleAnswer', examples.settleRefusal, [400, 401, 403, 408, 413, 415, 429]),
        },
      },
      get: {
        operationId: `settle${name}LookUp`,
        tags: ['x402'],
        summary: `Looks up a payment by link, or describes this endpoint (${where})`,
        description: 'Looks up. A GET never moves money.',
        security: OPEN,
        parameters: QUERY_PARAMETERS,
        responses: {
          200: jsonAnswer(
            'The settlement, or the description.',
            'SettlementOrDescription',
            undefined,
            RATE,
          ),
          400: jsonAnswer(
            'The query does not decode.',
            'SettleAnswer',
            examples.settleRefusal('invalid_payload', PAYMENT_QUERY_USAGE),
          ),
          404: jsonAnswer(
            'Not known.',
            'SettleAnswer',
            examples.settleRefusal('invalid_payload', NO_SUCH_SETTLEMENT),
          ),
          ...refusals('SettleAnswer', examples.settleRefusal, [429]),
        },
      },
    },
    [`${prefix}/accepts`]: acceptsPath(name, where),
    [`${prefix}/supported`]: {
      get: {
        operationId: `supported${name}`,
        tags: ['x402'],
        summary: `Networks, schemes, extensions and signers (${where})`,
        security: OPEN,
        responses: {
          200: jsonAnswer(
            'The served kinds.',
            'Supported',
            prefix === '/v1' ? examples.SUPPORTED_V1 : examples.SUPPORTED,
          ),
        },
      },
    },
  };
}

/** The x402 interface and the look-ups. */
export const FACILITATOR_OPENAPI: OpenApiPart = {
  tags: [
    { name: 'x402', description: 'The facilitator interface of x402, V1 and V2.' },
    { name: 'Look-ups', description: 'What became of a payment. Public.' },
  ],
  paths: Object.assign({}, ...VERSIONS.map(pathsOf)) as Record<string, JsonObject>,
  schemas: { ...FACILITATOR_SCHEMAS, ...ACCEPTS_SCHEMAS },
};
