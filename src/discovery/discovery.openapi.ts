import { applyDecorators, type Type } from '@nestjs/common';
import { ApiBody, ApiHeader } from '@nestjs/swagger';
import {
  BODY_REFUSALS,
  describing,
  jsonAnswer,
  listOf,
  object,
  OPEN,
  type OpenApiPart,
  problem,
  problemOf,
  RATE,
  schemaRef,
  text,
  TOO_MANY,
} from '../platform/http/openapi.js';
import { CatalogueStatementTaken, DiscoveryValidation } from './asking/dto/discovery.response.js';
import { catalogueUnavailable } from './catalogue-problems.js';

/** The catalogue, and the one body that no DTO class describes. */
export const DISCOVERY_OPENAPI: OpenApiPart = {
  tags: [
    { name: 'Discovery', description: 'What can be bought with payments that are settled here.' },
  ],
  schemas: {
    PaymentRequired: object(
      { x402Version: { type: 'integer', enum: [1, 2] }, accepts: listOf({}) },
      { resource: {}, extensions: {} },
      {
        additionalProperties: true,
        description: 'The answer names errors in these fields; they make no bad request.',
      },
    ),
  },
};

const describes = describing({ tag: 'Discovery', security: OPEN }, { 429: TOO_MANY });

/** The description of a query. */
export const DescribesQuestion = (
  operationId: string,
  summary: string,
  schema: Type,
  description?: string,
): MethodDecorator =>
  applyDecorators(
    ApiHeader({
      name: 'if-none-match',
      required: false,
      description: 'The ETag of an answer that the caller has.',
      schema: text,
    }),
    describes(
      operationId,
      summary,
      {
        200: jsonAnswer('The answer, with an ETag.', schema, undefined, RATE),
        304: { description: 'The same as `If-None-Match` names.' },
        400: problem('An unknown or malformed parameter.', {
          error: 'payTo must be an address: 0x and 40 hex digits.',
          code: 'invalid_query',
          path: 'payTo',
          expected: 'an address: 0x and 40 hex digits',
          got: 'text of 2 characters',
        }),
        503: problemOf(
          'The catalogue is unavailable now: ask again.',
          catalogueUnavailable(undefined),
        ),
      },
      description,
    ),
  );

/** The description of `POST …/discovery/validate`. */
export const DescribesValidation = (): MethodDecorator =>
  applyDecorators(
    ApiBody({ schema: schemaRef('PaymentRequired') }),
    describes(
      'validateDeclaration',
      'Whether what a 402 declares would be listed, and what is wrong with it',
      {
        200: jsonAnswer('What would become of it.', DiscoveryValidation, undefined, RATE),
        400: problem('The body is not the body of a 402 answer.', {
          error:
            'The body must be the body of a 402 answer, with x402Version 1 or 2 and the list accepts.',
          code: 'invalid_request',
          path: 'body',
          expected: 'the body of a 402 answer, with x402Version 1 or 2 and the list accepts',
          got: 'an object',
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
      200: jsonAnswer('It was taken.', CatalogueStatementTaken, undefined, RATE),
      400: coded(
        '`invalid_statement`, `statement_expired` or `statement_early`.',
        'statement.until is malformed: docs/discovery.md describes it.',
        'invalid_statement',
      ),
      403: coded(
        'Not signed by its payee, for this catalogue and network.',
        'The signature is not by `payTo`, or it is for another statement, catalogue or network.',
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
        'A statement about this entry with the same or a later issuedAt was already accepted.',
        'statement_used',
      ),
      503: problemOf(
        'The catalogue or the network cannot be asked: bring it again.',
        catalogueUnavailable(undefined),
      ),
    },
    'EIP-712 typed data `CatalogueStatement`; the documentation has its form.',
  );
