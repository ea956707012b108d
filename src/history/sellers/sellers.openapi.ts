import {
  type Json,
  jsonAnswer,
  type JsonObject,
  OPEN,
  type OpenApiPart,
  schemaRef,
} from '../../platform/http/openapi.js';
import {
  ADDRESS_SCHEMA as address,
  ATOMIC_UNITS_SCHEMA as digits,
  CAIP2_SCHEMA as network,
  objectSchema,
  TEXT_SCHEMA as text,
  WHEN_SCHEMA,
} from '../../protocol/payment/wire-schemas.js';
import { REASONS } from '../../protocol/reasons.js';
import { SETTLEMENT_STATES } from '../../settlement/model/settlement.js';
import { GROUP_BY_SCHEMA } from '../operators/operator-query.js';

const word = { type: 'string', pattern: '^0x[0-9a-f]{64}$' } as const;
const settlementId = { type: 'string', pattern: '^[A-Za-z0-9_-]{43}$' } as const;
const finality = { type: 'string', enum: ['included', 'finalized'] } as const;

const KEY: Json = [{ apiKey: [] }, { bearer: [] }];
const RATE = ['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset'];

const object = (...args: Parameters<typeof objectSchema>): JsonObject =>
  objectSchema(...args) as JsonObject;

const problem = (description: string, example: JsonObject, headers?: readonly string[]) =>
  jsonAnswer(description, 'Problem', example, headers);

/** What every route of a seller refuses alike. */
const SELLER_REFUSALS: JsonObject = {
  401: problem(
    'No API key, or an unknown one.',
    { error: REASONS.unauthorized.meaning, reason: 'unauthorized' },
    ['WWW-Authenticate'],
  ),
  403: problem('An API key without the scope `history`, or without payees.', {
    error: REASONS.forbidden.meaning,
    reason: 'forbidden',
  }),
  429: problem(
    'Too many requests.',
    { error: REASONS.rate_limited.meaning, reason: 'rate_limited' },
    ['Retry-After', ...RATE],
  ),
};

const said = {
  network,
  scheme: text,
  asset: address,
  payer: address,
  payTo: address,
  amount: { ...digits, description: 'What was paid.' },
  authorized: { ...digits, description: 'What was signed: the same, or the maximum.' },
  nonce: digits,
  deadline: digits,
  terms: { ...word, description: 'SHA-256 over all that the payer committed to.' },
  transaction: word,
  logIndex: digits,
  blockNumber: digits,
  blockHash: word,
  finality,
  issuedAt: { ...digits, description: 'Unix seconds.' },
};
const closed = { additionalProperties: false };

const SCHEMAS: Readonly<Record<string, JsonObject>> = {
  SettlementReceipt: object({ settlementId, ...said }, undefined, closed),
  SignedReceipt: object(
    {
      receipt: schemaRef('SettlementReceipt'),
      eip712: object(
        {
          domain: object({ name: text, version: text, chainId: { type: 'integer' } }),
          types: { type: 'object', additionalProperties: true },
          primaryType: { type: 'string', const: 'SettlementReceipt' },
          message: object({ settlementId: word, ...said }, undefined, closed),
          signer: address,
          signature: { type: 'string', pattern: '^0x[0-9a-f]{130}$' },
        },
        undefined,
        closed,
      ),
      jws: {
        type: 'string',
        pattern: '^[A-Za-z0-9_-]+[.][A-Za-z0-9_-]+[.][A-Za-z0-9_-]+$',
        description: 'Compact, EdDSA; its payload is the receipt.',
      },
    },
    undefined,
    closed,
  ),
  SettlementTotals: object(
    {
      groupBy: { type: 'array', items: text },
      totals: {
        type: 'array',
        items: object(
          {
            day: { type: 'string', format: 'date' },
            network,
            asset: address,
            payTo: address,
            paid: object({ count: digits, amount: { type: 'string', pattern: '^[0-9]+$' } }),
            states: { type: 'object', additionalProperties: digits },
          },
          ['network', 'asset', 'paid', 'states'],
          closed,
        ),
      },
    },
    undefined,
    closed,
  ),
  ReceiptKeys: object({
    keys: { type: 'array', items: { type: 'object', additionalProperties: true } },
    x402_receipt_signers: {
      type: 'array',
      items: address,
      description: 'Of the EIP-712 signatures; the first signs now.',
    },
  }),
};

const FILTERS: Readonly<Record<string, JsonObject>> = {
  payTo: address,
  from: {
    ...WHEN_SCHEMA,
    description: 'Claimed at or after: a day (UTC), or a time with its zone.',
  },
  to: { ...WHEN_SCHEMA, description: 'Claimed before.' },
  state: { type: 'string', enum: SETTLEMENT_STATES },
  asset: address,
  network,
};

const parametersOf = (
  schemas: Readonly<Record<string, JsonObject>>,
  required: readonly string[],
): Json =>
  Object.entries(schemas).map(([name, schema]) => ({
    name,
    in: 'query',
    schema,
    ...(required.includes(name) && { required: true }),
  }));

const NO_HISTORY = problem('There is no history.', {
  error: 'The history is off: `DATABASE_URL` is not set.',
  code: 'history_off',
});
const AWAY = problem('The history cannot be asked now: ask again.', {
  error: 'The history database is unavailable. Try again.',
  code: 'history_unavailable',
});

/** What sellers have of their own settlements. */
export const SELLERS_OPENAPI: OpenApiPart = {
  tags: [{ name: 'History', description: 'What was paid to the payees of an API key.' }],
  paths: {
    '/v2/settlements/{id}/receipt': {
      get: {
        operationId: 'receipt',
        tags: ['History'],
        summary: 'A signed receipt of a settlement',
        description:
          'Only of what is at least in a block; `finality` says how certain it was when it was signed.',
        security: KEY,
        parameters: [
          {
            name: 'id',
            in: 'path',
            required: true,
            schema: settlementId,
            description: 'From the header `Settlement-Id`, or from a list.',
          },
        ],
        responses: {
          200: jsonAnswer('The receipt.', 'SignedReceipt', undefined, RATE),
          404: problem('Not known, or paid to others.', {
            error: 'No settlement is known by this.',
            code: 'not_found',
          }),
          409: problem('No transfer on the chain shows this payment, or not yet.', {
            error: 'No block shows this payment; there is no receipt of it.',
            code: 'not_paid',
          }),
          501: problem('Receipts are off: `RECEIPT_KEY` is not set.', {
            error: 'Receipts are off: `RECEIPT_KEY` is not set.',
            code: 'receipts_off',
          }),
          503: problem('Neither known nor unknown now: ask again.', {
            error: 'This cannot be looked up right now. Try again.',
          }),
          ...SELLER_REFUSALS,
        },
      },
    },
    '/v2/settlements/totals': {
      get: {
        operationId: 'settlementTotals',
        tags: ['History'],
        summary: 'Exact sums of what was paid to the payees of an API key',
        description: 'Amounts of two assets are never added: every group is of one asset.',
        security: KEY,
        parameters: parametersOf(
          {
            ...FILTERS,
            groupBy: {
              ...GROUP_BY_SCHEMA,
              description: '`day`, `asset` and `payee`, comma-separated.',
            },
          },
          ['from'],
        ),
        responses: {
          200: jsonAnswer('The sums.', 'SettlementTotals', undefined, RATE),
          400: problem('A parameter that is none, or too many groups.', {
            error: 'from must be given.',
            code: 'invalid_query',
          }),
          501: NO_HISTORY,
          503: AWAY,
          ...SELLER_REFUSALS,
        },
      },
    },
    '/v2/settlements/export': {
      get: {
        operationId: 'exportSettlements',
        tags: ['History'],
        summary: 'A file of what was paid to the payees of an API key',
        description: 'Newest first. A file that could not be finished is broken off, never ended.',
        security: KEY,
        parameters: parametersOf(
          { format: { type: 'string', enum: ['csv', 'ndjson'] }, ...FILTERS },
          ['format'],
        ),
        responses: {
          200: {
            description: 'The file.',
            content: {
              'text/csv': { schema: text },
              'application/x-ndjson': { schema: text },
            },
          },
          400: problem('A parameter that is none.', {
            error: 'format must be one of csv, ndjson.',
            code: 'invalid_query',
          }),
          501: NO_HISTORY,
          503: AWAY,
          ...SELLER_REFUSALS,
        },
      },
    },
    '/.well-known/jwks.json': {
      get: {
        operationId: 'receiptKeys',
        tags: ['History'],
        summary: 'The keys by which receipts are verified (RFC 7517)',
        security: OPEN,
        responses: {
          200: jsonAnswer('The keys.', 'ReceiptKeys'),
          404: problem('Receipts are off: `RECEIPT_KEY` is not set.', {
            error: 'Receipts are off: `RECEIPT_KEY` is not set.',
            code: 'receipts_off',
          }),
        },
      },
    },
  },
  schemas: SCHEMAS,
};
