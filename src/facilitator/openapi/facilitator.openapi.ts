import { applyDecorators } from '@nestjs/common';
import { ApiBody, ApiHeader, ApiQuery } from '@nestjs/swagger';
import {
  type AnswersByStatus,
  BODY_REFUSALS,
  describing,
  jsonAnswer,
  KEY_IF_IN_USE,
  OPEN,
  type OpenApiPart,
  problem,
  RATE,
  schemaRef,
  TOO_MANY,
} from '../../platform/http/openapi.js';
import { NO_SUCH_SETTLEMENT } from '../../platform/http/settlement-id.pipe.js';
import type { Reason } from '../../protocol/reasons.js';
import { SIMULATED_OUTCOMES } from '../simulation/outcomes.js';
import { PAYMENT_QUERY_USAGE } from '../status/payment-query.js';
import * as examples from './examples.js';
import { FACILITATOR_SCHEMAS } from './schemas.js';

/** The x402 interface and the look-ups. */
export const FACILITATOR_OPENAPI: OpenApiPart = {
  tags: [
    { name: 'x402', description: 'The facilitator interface of x402, V1 and V2.' },
    { name: 'Look-ups', description: 'What became of a payment. Public.' },
  ],
  schemas: FACILITATOR_SCHEMAS,
};

/** Refusals that have the fields of a verdict or of a settle answer. */
function refusalsAs(schema: string, refusal: typeof examples.verifyRefusal) {
  const refused = (description: string, reason: Reason, headers?: readonly string[]) =>
    jsonAnswer(description, schema, refusal(reason), headers);
  const malformed = (description: string, message: string) =>
    jsonAnswer(description, schema, refusal('invalid_payload', message));
  const limit: AnswersByStatus = {
    429: refused('Too many requests.', 'rate_limited', ['Retry-After', ...RATE]),
  };
  const caller: AnswersByStatus = {
    ...limit,
    401: refused('The API key is missing or unknown.', 'unauthorized', ['WWW-Authenticate']),
    403: refused('The API key lacks the scope.', 'forbidden'),
  };
  const body: AnswersByStatus = {
    400: malformed('Not an envelope.', 'The body is empty; a JSON object is expected.'),
    408: malformed('The body did not arrive in time.', 'The body did not arrive in time.'),
    413: malformed('The body is larger than `BODY_MAX_BYTES`.', 'The body is too large.'),
    415: malformed(
      'A content encoding that is not gzip, deflate or br.',
      'The content encoding is not supported.',
    ),
  };
  const query: AnswersByStatus = {
    400: malformed('The query does not decode.', PAYMENT_QUERY_USAGE),
  };
  return { limit, caller, body, query };
}

const VERIFY = refusalsAs('VerifyAnswer', examples.verifyRefusal);
const SETTLE = refusalsAs('SettleAnswer', examples.settleRefusal);

const describes = describing({ tag: 'x402', security: KEY_IF_IN_USE });
const describesOpen = describing({ tag: 'x402', security: OPEN });

const TakesPayment = (): MethodDecorator => ApiBody({ schema: schemaRef('Request{version}') });

const TakesPaymentQuery = (): MethodDecorator =>
  applyDecorators(
    ...['paymentPayload', 'paymentRequirements'].map((name) =>
      ApiQuery({
        name,
        required: false,
        description: 'A JSON object in base64url. Without both the endpoint describes itself.',
        schema: { type: 'string', minLength: 1, pattern: '^[A-Za-z0-9_-]+$' },
      }),
    ),
  );

const TakesIdempotencyKey = (): MethodDecorator =>
  ApiHeader({
    name: 'Idempotency-Key',
    description:
      'One per order of yours, not guessable, never made from the payment. The same key with the same ' +
      'payment gets the same answer each time, and while it is bound no other key gets success; with ' +
      'another payment it is refused with 409. It belongs to the API key, or to payee and payer.',
    schema: { type: 'string', minLength: 1, maxLength: 256 },
  });

export const DescribesVerify = (): MethodDecorator =>
  applyDecorators(
    TakesPayment(),
    TakesIdempotencyKey(),
    describes(
      'verify{version}',
      'Verifies a payment',
      {
        200: jsonAnswer('The verdict.', 'VerifyAnswer', examples.VERIFIED, RATE),
        ...VERIFY.body,
        ...VERIFY.caller,
      },
      'Changes nothing.',
    ),
  );

export const DescribesVerifyQuery = (): MethodDecorator =>
  applyDecorators(
    TakesPaymentQuery(),
    describes('verify{version}ByQuery', 'Verifies a payment by link, or describes this endpoint', {
      200: jsonAnswer('The verdict, or the description.', 'VerifyOrDescription', undefined, RATE),
      ...VERIFY.query,
      ...VERIFY.caller,
    }),
  );

export const DescribesSettle = (): MethodDecorator =>
  applyDecorators(
    TakesPayment(),
    TakesIdempotencyKey(),
    ApiHeader({
      name: 'Settle-Finality',
      description: 'The finality that the payment must reach before success is answered.',
      schema: { type: 'string', enum: ['included', 'finalized'] },
    }),
    ApiHeader({
      name: 'Prefer',
      description: '`respond-async` hands the settlement out at once, with 202 (RFC 7240).',
      schema: { type: 'string', minLength: 1, examples: ['respond-async'] },
    }),
    ApiHeader({
      name: 'X-Simulate',
      description:
        'For tests of sellers, with an API key that has the scope `simulate`, on test networks: this outcome is ' +
        'played, and nothing is settled. The answer has the header `X-Simulated`.',
      schema: { type: 'string', enum: [...SIMULATED_OUTCOMES] },
    }),
    describes(
      'settle{version}',
      'Settles a payment once',
      {
        200: jsonAnswer(
          'The one true answer, or what is known so far.',
          'SettleAnswer',
          examples.SETTLED,
          [...SETTLE_HEADERS, 'Retry-After', 'EXTENSION-RESPONSES', ...RATE],
        ),
        202: jsonAnswer(
          'Accepted for this request, by `Prefer: respond-async`.',
          'SettleAnswer',
          examples.ACCEPTED,
          [...SETTLE_HEADERS, 'Location'],
        ),
        409: jsonAnswer(
          'This Idempotency-Key was used with another payment before.',
          'SettleAnswer',
          examples.KEY_CONFLICT,
        ),
        ...SETTLE.body,
        ...SETTLE.caller,
      },
      'Deliver when `success` is true, and only then. One request gets it; all others get ' +
        '`duplicate_settlement`. On `settlement_pending`, which carries a hash, send the same request again.',
    ),
  );

const SETTLE_HEADERS = ['Settlement-Id', 'Settle-Finality', 'X-Simulated'];

export const DescribesSettleQuery = (): MethodDecorator =>
  applyDecorators(
    TakesPaymentQuery(),
    describesOpen(
      'settle{version}LookUp',
      'Looks up a payment by link, or describes this endpoint',
      {
        200: jsonAnswer(
          'The settlement, or the description.',
          'SettlementOrDescription',
          undefined,
          RATE,
        ),
        404: jsonAnswer(
          'Not known.',
          'SettleAnswer',
          examples.settleRefusal('invalid_payload', NO_SUCH_SETTLEMENT),
        ),
        ...SETTLE.query,
        ...SETTLE.limit,
      },
      'Looks up. A GET never moves money.',
    ),
  );

export const DescribesSupported = (): MethodDecorator =>
  describesOpen('supported{version}', 'Networks, schemes, extensions and signers', {
    200: jsonAnswer('The served kinds.', 'Supported'),
  });

export const DescribesAccepts = (): MethodDecorator =>
  applyDecorators(
    ApiBody({ schema: schemaRef('Accepts{version}') }),
    describesOpen(
      'accepts{version}',
      'The offers that can be settled here',
      {
        200: jsonAnswer('Those of the offers that are served.', 'AcceptsAnswer', undefined, RATE),
        400: problem('The list is missing or malformed, or no payment can satisfy an offer.', {
          error: 'accepts[0].payTo: expected an address.',
          code: 'invalid_request',
          path: 'accepts[0].payTo',
          expected: 'an address',
          got: 'text of 4 characters',
        }),
        ...BODY_REFUSALS,
        429: TOO_MANY,
      },
      'For sellers whose middleware asks its facilitator for the requirements of a 402. Offers of other ' +
        'networks and schemes are left out, and what a scheme needs in `extra` is filled in.',
    ),
  );
