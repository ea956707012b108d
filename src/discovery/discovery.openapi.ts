import { applyDecorators } from '@nestjs/common';
import { ApiBody } from '@nestjs/swagger';
import {
  BODY_REFUSALS,
  count,
  describing,
  flag,
  free,
  jsonAnswer,
  listOf,
  moment,
  object,
  OPEN,
  type OpenApiPart,
  problem,
  RATE,
  schemaRef,
  text,
  TOO_MANY,
} from '../platform/http/openapi.js';
import { ADDRESS_SCHEMA as address } from '../protocol/payment/wire-schemas.js';
import { MEANINGS } from './codes.js';

const version = { type: 'integer', enum: [1, 2] } as const;
const code = { type: 'string', enum: Object.keys(MEANINGS) };
const type = { type: 'string', enum: ['http', 'mcp'] } as const;

const pagination = object({ limit: count, offset: count, total: count }, { nextCursor: text });

const WORDS = {
  description: text,
  mimeType: text,
  serviceName: text,
  tags: listOf(text),
  iconUrl: text,
};

/** The catalogue: the bodies that are no DTO classes, and the answers. */
export const DISCOVERY_OPENAPI: OpenApiPart = {
  tags: [
    { name: 'Discovery', description: 'What can be bought with payments that are settled here.' },
  ],
  schemas: {
    DiscoveredResource: object(
      {
        resource: text,
        type,
        x402Version: version,
        accepts: listOf(free),
        lastUpdated: moment,
        extensions: free,
        discoveryInfo: free,
        network: text,
        payTo: address,
      },
      {
        exampleUrl: {
          ...text,
          description: 'A URL that `resource` stands for, where it is a template.',
        },
        exampleUrls: {
          ...listOf(text),
          maxItems: 5,
          description: 'URLs of the template that were bought, the newest first.',
        },
        method: text,
        toolName: text,
        ...WORDS,
        firstPaid: moment,
        quality: schemaRef('DiscoveredQuality'),
        otherPayees: {
          ...count,
          description:
            'Others that were paid for the same place: a payment does not show who sells there.',
        },
      },
    ),
    DiscoveredQuality: object(
      {
        l30DaysTotalCalls: { ...count, description: 'Paid, of the newest 10 000.' },
        l30DaysUniquePayers: count,
        l30DaysRepeatPayers: { ...count, description: 'Payers that bought on two days or more.' },
        l30DaysExcludedCalls: {
          ...count,
          description: 'Paid by the payee or by whom it paid; in none of the other numbers.',
        },
        score: { type: 'number', minimum: 0, description: 'What lists are ordered by.' },
      },
      {
        l30DaysSuccessRate: { type: 'number', minimum: 0, maximum: 1 },
        l30DaysMedianSettleMs: { ...count, description: 'From the claim to the block.' },
        lastCalledAt: moment,
      },
    ),
    DiscoveryList: object({
      x402Version: version,
      items: listOf('DiscoveredResource'),
      pagination,
    }),
    DiscoveryMerchant: object({
      x402Version: version,
      payTo: address,
      resources: listOf('DiscoveredResource'),
      pagination,
    }),
    DiscoverySearch: object({
      x402Version: version,
      resources: listOf('DiscoveredResource'),
      partialResults: flag,
      searchMethod: { type: 'string', enum: ['text', 'text+trigram'] },
      pagination: object({ limit: count, cursor: { type: ['string', 'null'] } }),
    }),
    DiscoveryStatus: object({
      resource: text,
      listed: flag,
      code,
      message: text,
      known: listOf(
        object(
          {
            payTo: address,
            network: text,
            resource: text,
            listed: flag,
            code,
            message: text,
            at: moment,
          },
          { call: text, path: text },
        ),
      ),
    }),
    DiscoveryValidation: object(
      { valid: flag, code, message: text, x402Version: version },
      { path: text, expected: text, notes: listOf(text), listing: free },
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
      },
      { words: object(WORDS), until: moment },
    ),
    PaymentRequired: object(
      { x402Version: version, accepts: listOf({}) },
      { resource: {}, extensions: {} },
      {
        additionalProperties: true,
        description: 'The answer names errors in these fields; they make no bad request.',
      },
    ),
  },
};

const describes = describing({ tag: 'Discovery', security: OPEN }, { 429: TOO_MANY });

/** The description of a question. */
export const DescribesQuestion = (
  operationId: string,
  summary: string,
  schema: string,
  description?: string,
): MethodDecorator =>
  describes(
    operationId,
    summary,
    {
      200: jsonAnswer('The answer, with an ETag.', schema, undefined, RATE),
      304: { description: 'The same as `If-None-Match` names.' },
      400: problem('An unknown or malformed parameter.', {
        error: 'payTo must be an address: 0x and 40 hex digits.',
        code: 'invalid_query',
      }),
      503: problem('The catalogue is unavailable now: ask again.', {
        error: 'The catalogue is unavailable. Try again.',
        code: 'catalogue_unavailable',
      }),
    },
    description,
  );

/** The description of `POST …/discovery/validate`. */
export const DescribesValidation = (): MethodDecorator =>
  applyDecorators(
    ApiBody({ schema: schemaRef('PaymentRequired') }),
    describes(
      'validateDeclaration',
      'Whether what a 402 declares would be listed, and what is wrong with it',
      {
        200: jsonAnswer('What would become of it.', 'DiscoveryValidation', undefined, RATE),
        400: problem('The body is not that of a 402.', {
          error: 'The body must be that of a 402 answer: x402Version 1 or 2, and a list accepts.',
        }),
        ...BODY_REFUSALS,
      },
      'Nothing is fetched, and nothing is kept.',
    ),
  );

const coded = (description: string, error: string, shown: string) =>
  problem(description, { error, code: shown });

/** The description of `POST …/discovery/statements`. */
export const DescribesStatement = (): MethodDecorator =>
  describes(
    'stateOfEntry',
    'Takes back or corrects an entry, by a signed statement of its payee',
    {
      200: jsonAnswer('It was taken.', 'CatalogueStatementTaken', undefined, RATE),
      400: coded(
        '`invalid_statement`, `statement_expired` or `statement_early`.',
        'statement.until is malformed: docs/discovery.md describes it.',
        'invalid_statement',
      ),
      403: coded(
        'Not signed by its payee, for this catalogue and network.',
        'The signature is not by payTo, or is over another statement, catalogue or network.',
        'wrong_signer',
      ),
      404: coded(
        'No such entry, or no statements are taken here: `statements_off`.',
        'The catalogue has no entry with this network, payTo, type, resource and call.',
        'entry_unknown',
      ),
      ...BODY_REFUSALS,
      409: coded(
        'It was taken before, or a later one was.',
        'A statement about this entry with this issuedAt, or a later one, was accepted before.',
        'statement_used',
      ),
      503: coded(
        'The catalogue or the network cannot be asked: bring it again.',
        'The catalogue is unavailable. Try again.',
        'catalogue_unavailable',
      ),
    },
    'EIP-712 typed data `CatalogueStatement`; the documentation has its form.',
  );
