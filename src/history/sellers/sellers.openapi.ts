import { applyDecorators } from '@nestjs/common';
import { ApiOperation } from '@nestjs/swagger';
import {
  Answers,
  type AnswersByStatus,
  free,
  jsonAnswer,
  type JsonObject,
  KEY_NEEDED,
  listOf,
  NO_KEY,
  object,
  type OpenApiPart,
  problem,
  RATE,
  schemaRef,
  text,
  TOO_MANY,
} from '../../platform/http/openapi.js';
import { NO_SUCH_SETTLEMENT } from '../../platform/http/settlement-id.pipe.js';
import {
  ADDRESS_SCHEMA as address,
  ATOMIC_UNITS_SCHEMA as digits,
  CAIP2_SCHEMA as network,
  SETTLEMENT_ID_SCHEMA as settlementId,
} from '../../protocol/payment/wire-schemas.js';
import { REASONS } from '../../protocol/reasons.js';

const word = { type: 'string', pattern: '^0x[0-9a-f]{64}$' } as const;
const finality = { type: 'string', enum: ['included', 'finalized'] } as const;

/** What every route of a seller refuses alike. */
const SELLER_REFUSALS: AnswersByStatus = {
  401: NO_KEY,
  403: problem('An API key without the scope `history`, or without payees.', {
    error: REASONS.forbidden.meaning,
    reason: 'forbidden',
  }),
  429: TOO_MANY,
};

const said = {
  network,
  scheme: text,
  asset: address,
  payer: address,
  payTo: address,
  amount: { ...digits, description: 'The paid amount.' },
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
  SettlementReceipt: object({ settlementId, ...said }, {}, closed),
  SignedReceipt: object(
    {
      receipt: schemaRef('SettlementReceipt'),
      eip712: object(
        {
          domain: object({ name: text, version: text, chainId: { type: 'integer' } }),
          types: free,
          primaryType: { type: 'string', const: 'SettlementReceipt' },
          message: object({ settlementId: word, ...said }, {}, closed),
          signer: address,
          signature: { type: 'string', pattern: '^0x[0-9a-f]{130}$' },
        },
        {},
        closed,
      ),
      jws: {
        type: 'string',
        pattern: '^[A-Za-z0-9_-]+[.][A-Za-z0-9_-]+[.][A-Za-z0-9_-]+$',
        description: 'Compact, EdDSA; its payload is the receipt.',
      },
    },
    {},
    closed,
  ),
  SettlementTotals: object(
    {
      groupBy: listOf(text),
      totals: listOf(
        object(
          {
            network,
            asset: address,
            paid: object({ count: digits, amount: { type: 'string', pattern: '^[0-9]+$' } }),
            states: { type: 'object', additionalProperties: digits },
          },
          { day: { type: 'string', format: 'date' }, payTo: address },
          closed,
        ),
      ),
    },
    {},
    closed,
  ),
  ReceiptKeys: object({
    keys: listOf(free),
    x402_receipt_signers: {
      ...listOf(address),
      description: 'Of the EIP-712 signatures; the first signs now.',
    },
  }),
};

export const NO_ARCHIVE: AnswersByStatus = {
  501: problem('There is no history.', {
    error: 'The history is off: `DATABASE_URL` is not set.',
    code: 'history_off',
  }),
  503: problem('The history is unavailable now. Try again.', {
    error: 'The history database is unavailable. Try again.',
    code: 'history_unavailable',
  }),
};

export const FILE: JsonObject = {
  description: 'The file.',
  content: { 'text/csv': { schema: text }, 'application/x-ndjson': { schema: text } },
};

export const RECEIPT_ANSWERS: AnswersByStatus = {
  200: jsonAnswer('The receipt.', 'SignedReceipt', undefined, RATE),
  404: problem('The settlement is unknown, or its payee belongs to another key.', {
    error: NO_SUCH_SETTLEMENT,
    code: 'not_found',
  }),
  409: problem('No transfer on the chain proves this payment, or none does yet.', {
    error: 'There is no receipt: no block contains this payment.',
    code: 'not_paid',
  }),
  501: problem('Receipts are off: `RECEIPT_KEY` is not set.', {
    error: 'Receipts are off: `RECEIPT_KEY` is not set.',
    code: 'receipts_off',
  }),
  503: problem('The look-up is unavailable now. Try again.', {
    error: 'The look-up is unavailable right now. Try again.',
  }),
};

interface Operation {
  readonly id: string;
  readonly summary: string;
  readonly description: string;
  readonly answers: AnswersByStatus;
}

/** The description of a handler: what every handler of sellers refuses alike is added. */
export const Describes = ({ id, answers, ...texts }: Operation): MethodDecorator =>
  applyDecorators(
    ApiOperation({ operationId: id, tags: ['History'], security: KEY_NEEDED, ...texts }),
    Answers({ ...answers, ...SELLER_REFUSALS }),
  );

/** What sellers have of their own settlements. */
export const SELLERS_OPENAPI: OpenApiPart = {
  tags: [{ name: 'History', description: 'Payments to the payees of an API key.' }],
  schemas: SCHEMAS,
};
