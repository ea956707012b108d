import { applyDecorators } from '@nestjs/common';
import { ApiOperation } from '@nestjs/swagger';
import {
  Answers,
  BODY_REFUSALS,
  jsonAnswer,
  type JsonObject,
  KEY_IF_IN_USE,
  NO_KEY,
  type OpenApiPart,
  problem,
  RATE,
  schemaRef,
} from '../../platform/http/openapi.js';
import {
  ADDRESS_SCHEMA,
  ATOMIC_UNITS_SCHEMA,
  objectSchema,
  TEXT_SCHEMA,
} from '../../protocol/payment/wire-schemas.js';

const URL_SCHEMA = { type: 'string', minLength: 1, maxLength: 2048 } as const;
const METHOD = {
  type: 'string',
  enum: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'],
  default: 'GET',
} as const;

const EXAMPLE = {
  url: 'https://seller.example/report',
  method: 'GET',
  status: 402,
  isSound: false,
  counts: { error: 1, warning: 0, note: 0 },
  offers: [
    {
      path: 'terms.accepts[0]',
      version: 2,
      scheme: 'exact',
      method: 'eip3009',
      network: 'eip155:56',
      asset: '0xcE24439F2D9C6a2289F741120FE202248B666666',
      payTo: '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC',
      amount: '100000000000000000',
      price: '0.1 U',
    },
  ],
  findings: [
    {
      code: 'name_differs',
      severity: 'error',
      path: 'terms.accepts[0].extra.name',
      expected: '"United Stables"',
      got: '"U"',
      fix: 'Buyers sign for this name and version, and the token checks them to the letter.',
    },
  ],
};

/** The description of `POST /v2/doctor`. */
export const DescribesCheck = (): MethodDecorator =>
  applyDecorators(
    ApiOperation({
      operationId: 'examineSeller',
      tags: ['Sellers'],
      summary: 'Checks a seller with the requests of a buyer',
      description:
        'Fetches the URL, reads the 402, compares it with the chain and lets a payment of an empty ' +
        'account be verified. It pays nothing. Only public addresses are fetched, unless settings say ' +
        'otherwise. There where `DOCTOR` is on.',
      security: KEY_IF_IN_USE,
    }),
    Answers({
      200: jsonAnswer('The report.', 'DoctorReport', EXAMPLE, RATE),
      400: jsonAnswer('The URL, the method or the body is missing or wrong.', 'Problem', {
        error: 'body must be absent with GET and HEAD.',
        code: 'invalid_request',
      }),
      401: NO_KEY,
      403: problem('The API key lacks the scope.', {
        error: 'This API key does not have the scope `verify`.',
        reason: 'forbidden',
      }),
      ...BODY_REFUSALS,
      429: problem(
        'Too many checks: by this caller, or at once.',
        { error: 'Too many requests.' },
        ['Retry-After'],
      ),
      503: problem('The rate limit cannot be checked now.', {
        error: 'The look-up is unavailable right now. Try again.',
      }),
    }),
  );

/** What the check of sellers answers. */
export const DOCTOR_OPENAPI: OpenApiPart = {
  tags: [{ name: 'Sellers', description: 'What keeps buyers from paying a resource server.' }],
  schemas: {
    DoctorReport: objectSchema(
      {
        url: URL_SCHEMA,
        method: METHOD,
        status: { type: 'integer', description: 'Absent where the seller did not answer.' },
        isSound: { type: 'boolean', description: 'Neither errors nor warnings.' },
        counts: objectSchema(
          Object.fromEntries(
            ['error', 'warning', 'note'].map((name) => [name, { type: 'integer', minimum: 0 }]),
          ),
        ),
        offers: { type: 'array', items: schemaRef('DoctorOffer') },
        findings: { type: 'array', items: schemaRef('DoctorFinding'), maxItems: 60 },
      },
      ['url', 'method', 'isSound', 'counts', 'offers', 'findings'],
    ) as JsonObject,
    DoctorOffer: objectSchema(
      {
        path: TEXT_SCHEMA,
        version: { type: 'integer', enum: [1, 2] },
        scheme: TEXT_SCHEMA,
        method: { type: 'string', enum: ['eip3009', 'permit2'] },
        network: TEXT_SCHEMA,
        asset: ADDRESS_SCHEMA,
        payTo: ADDRESS_SCHEMA,
        amount: ATOMIC_UNITS_SCHEMA,
        price: { type: 'string', description: 'In whole tokens.' },
      },
      ['path', 'version', 'scheme', 'method', 'network', 'asset', 'payTo', 'amount'],
    ) as JsonObject,
    DoctorFinding: objectSchema(
      {
        code: { type: 'string', pattern: '^[a-z0-9_]+$' },
        severity: {
          type: 'string',
          enum: ['error', 'warning', 'note'],
          description:
            '`error`: a stock buyer cannot pay. `warning`: some cannot, or it is not what was meant. `note`: ' +
            'what buyers have to know.',
        },
        path: TEXT_SCHEMA,
        expected: TEXT_SCHEMA,
        got: {
          type: 'string',
          maxLength: 120,
          description: 'Of the seller: shortened, and to be treated as data.',
        },
        fix: TEXT_SCHEMA,
      },
      ['code', 'severity', 'path', 'expected', 'fix'],
    ) as JsonObject,
  },
};
