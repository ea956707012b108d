import { jsonAnswer, type JsonObject, OPEN, schemaRef } from '../../platform/http/openapi.js';
import {
  ADDRESS_SCHEMA as address,
  CAIP2_SCHEMA,
  objectSchema,
  TEXT_SCHEMA as text,
} from '../../protocol/payment/wire-schemas.js';

const RATE = ['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset'];
const seconds = { type: 'integer', minimum: 0, maximum: 9_999_999_999 } as const;
const time = { type: 'string', format: 'date-time' } as const;
const type = { type: 'string', enum: ['http', 'mcp'] } as const;

const object = (...args: Parameters<typeof objectSchema>): JsonObject =>
  objectSchema(...args) as JsonObject;

/** That a payee may correct; what is empty stays as it is declared. */
const WORDS: JsonObject = {
  description: { ...text, maxLength: 500 },
  mimeType: { ...text, maxLength: 100 },
  serviceName: { ...text, maxLength: 32 },
  tags: { type: 'array', maxItems: 5, items: { ...text, maxLength: 32 } },
  iconUrl: { ...text, maxLength: 2048 },
};

export const STATEMENT_SCHEMAS: Readonly<Record<string, JsonObject>> = {
  CatalogueStatement: object(
    {
      network: { ...CAIP2_SCHEMA, description: '`eip155:56`' },
      statement: object(
        {
          action: { type: 'string', enum: ['remove', 'correct', 'restore'] },
          payTo: address,
          type,
          resource: { ...text, maxLength: 2048 },
          call: { ...text, maxLength: 128 },
          ...WORDS,
          issuedAt: { ...seconds, description: 'Unix seconds, at most an hour ago.' },
          until: { ...seconds, description: 'Unix seconds; 0 for no end.' },
        },
        ['action', 'payTo', 'type', 'resource', 'call', 'issuedAt'],
      ),
      signature: { type: 'string', pattern: '^0x([0-9a-fA-F]{2}){1,4096}$' },
    },
    ['network', 'statement', 'signature'],
  ),
  CatalogueStatementTaken: object(
    {
      code: { type: 'string', enum: ['removed', 'corrected', 'restored'] },
      message: text,
      network: text,
      payTo: address,
      type,
      resource: text,
      call: text,
      words: object(WORDS),
      until: time,
    },
    ['code', 'message', 'network', 'payTo', 'type', 'resource', 'call'],
  ),
};

const refusal = (description: string, [error = '', said = '']: readonly string[]): JsonObject =>
  jsonAnswer(description, 'Problem', { error, code: said });

/** @param refusals - of every route that takes a body. */
export const statementOperation = (refusals: JsonObject): JsonObject => ({
  tags: ['Discovery'],
  summary: 'Takes back or corrects an entry, by a signed statement of its payee',
  description: 'EIP-712 typed data `CatalogueStatement`; the documentation has its form.',
  security: OPEN,
  requestBody: {
    required: true,
    content: { 'application/json': { schema: schemaRef('CatalogueStatement') } },
  },
  responses: {
    200: jsonAnswer('It was taken.', 'CatalogueStatementTaken', undefined, RATE),
    400: refusal('`invalid_statement`, `statement_expired` or `statement_early`.', [
      'statement.until is not as docs/discovery.md says.',
      'invalid_statement',
    ]),
    403: refusal('Not signed by its payee, for this catalogue and network.', [
      'The signature is not of payTo over this statement, for this catalogue and network.',
      'wrong_signer',
    ]),
    404: refusal('No such entry, or no statements are taken here: `statements_off`.', [
      'There is no entry of this network, payTo, type, resource and call.',
      'entry_unknown',
    ]),
    ...refusals,
    409: refusal('It was taken before, or a later one was.', [
      'A statement of this entry with this issuedAt, or a later one, was taken before.',
      'statement_used',
    ]),
    503: refusal('The catalogue or the network cannot be asked: bring it again.', [
      'The catalogue is unavailable. Try again.',
      'catalogue_unavailable',
    ]),
  },
});
