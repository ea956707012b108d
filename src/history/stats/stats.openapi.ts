import { applyDecorators } from '@nestjs/common';
import { ApiOperation } from '@nestjs/swagger';
import {
  Answers,
  jsonAnswer,
  type JsonObject,
  OPEN,
  type OpenApiPart,
  RATE,
  schemaRef,
  TOO_MANY,
} from '../../platform/http/openapi.js';
import {
  ATOMIC_UNITS_SCHEMA,
  objectSchema,
  TEXT_SCHEMA,
} from '../../protocol/payment/wire-schemas.js';
import { NO_ARCHIVE } from '../sellers/sellers.openapi.js';

const DAY = { payments: '2', amount: '20000', tokens: '0.02', payers: '1', payees: '1' };
const ALL = { payments: '12', amount: '150000', tokens: '0.15', payers: '4', payees: '3' };
const EXAMPLE = {
  asOf: '2026-11-26T12:00:00.000Z',
  networks: {
    'eip155:8453': {
      '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913': {
        symbol: 'USDC',
        decimals: 6,
        txCount: 12,
        totalAmount: '150000',
        windows: { '24h': DAY, '7d': ALL, '30d': ALL, all: ALL },
      },
    },
  },
};

/** The description of `GET /stats`. */
export const DescribesStats = (): MethodDecorator =>
  applyDecorators(
    ApiOperation({
      operationId: 'stats',
      tags: ['Look-ups'],
      summary: 'Totals of payments, by network and asset',
      description:
        'Payments that are final, from the history. Windows begin with a full hour (UTC) of the claim. The 200 assets that were ' +
        'paid with most often are listed. An answer is kept for a minute. Not served where `PUBLIC_STATS` is false.',
      security: OPEN,
    }),
    Answers({
      200: jsonAnswer('The totals.', 'Stats', EXAMPLE, RATE),
      429: TOO_MANY,
      ...NO_ARCHIVE,
    }),
  );

/** What `GET /stats` answers with. */
export const STATS_OPENAPI: OpenApiPart = {
  tags: [],
  schemas: {
    Stats: objectSchema({
      asOf: { type: 'string', format: 'date-time' },
      networks: {
        type: 'object',
        description: 'By network (CAIP-2), then by address of the asset.',
        additionalProperties: {
          type: 'object',
          additionalProperties: schemaRef('AssetStats'),
        },
      },
    }) as JsonObject,
    AssetStats: objectSchema(
      {
        symbol: TEXT_SCHEMA,
        decimals: { type: 'integer', minimum: 0, maximum: 77 },
        txCount: { type: 'integer', description: 'Payments of all time.' },
        totalAmount: { ...ATOMIC_UNITS_SCHEMA, description: 'Of all time, atomic units.' },
        windows: objectSchema({
          '24h': schemaRef('WindowStats'),
          '7d': schemaRef('WindowStats'),
          '30d': schemaRef('WindowStats'),
          all: schemaRef('WindowStats'),
        }),
      },
      ['txCount', 'totalAmount', 'windows'],
    ) as JsonObject,
    WindowStats: objectSchema(
      {
        payments: ATOMIC_UNITS_SCHEMA,
        amount: { ...ATOMIC_UNITS_SCHEMA, description: 'Atomic units.' },
        tokens: {
          type: 'string',
          pattern: '^[0-9]+([.][0-9]+)?$',
          description: 'Whole tokens; absent where the decimals of the token are not known.',
        },
        payers: { ...ATOMIC_UNITS_SCHEMA, description: 'Different accounts.' },
        payees: { ...ATOMIC_UNITS_SCHEMA, description: 'Different accounts.' },
      },
      ['payments', 'amount', 'payers', 'payees'],
    ) as JsonObject,
  },
};
