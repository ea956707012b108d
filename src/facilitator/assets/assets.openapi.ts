import { type OpenApiPart, schemaRef } from '../../platform/http/openapi.js';
import { ADDRESS_SCHEMA, TEXT_SCHEMA } from '../../protocol/payment/wire-schemas.js';

const support = { type: 'string', enum: ['yes', 'no', 'unclear'] } as const;
const caip2 = { type: 'string', pattern: '^eip155:[1-9][0-9]*$', description: 'CAIP-2.' } as const;

export const EXAMPLE = {
  assets: [
    {
      network: 'eip155:56',
      asset: '0xcE24439F2D9C6a2289F741120FE202248B666666',
      symbol: 'U',
      decimals: 18,
      extra: { name: 'United Stables', version: '1' },
      eip3009: { vrs: 'yes', bytes: 'yes' },
      eip2612: 'no',
      methods: ['eip3009', 'permit2'],
      isDeployed: true,
      source: 'chain',
      readAt: '2026-11-22T08:00:00.000Z',
    },
  ],
};

/** The tokens this deployment knows. */
export const ASSETS_OPENAPI: OpenApiPart = {
  tags: [],
  schemas: {
    Assets: {
      type: 'object',
      required: ['assets'],
      properties: { assets: { type: 'array', items: schemaRef('Asset') } },
    },
    Asset: {
      type: 'object',
      required: ['network', 'asset', 'methods', 'source'],
      properties: {
        network: caip2,
        asset: ADDRESS_SCHEMA,
        symbol: TEXT_SCHEMA,
        decimals: { type: 'integer', minimum: 0, maximum: 77 },
        isDeployed: {
          type: 'boolean',
          description: 'Whether a contract is there; absent until the chain was asked.',
        },
        methods: {
          type: 'array',
          items: { type: 'string', enum: ['eip3009', 'permit2'] },
          description: 'How it can be paid with here.',
        },
        extra: {
          type: 'object',
          additionalProperties: { type: 'string' },
          description: 'What a seller writes into `extra` for the scheme `exact`.',
        },
        eip3009: {
          type: 'object',
          required: ['vrs', 'bytes'],
          properties: { vrs: support, bytes: support },
          description:
            'Overloads of `transferWithAuthorization` that were seen. Contract wallets need `bytes`.',
        },
        eip2612: { ...support, description: 'Whether an approval of Permit2 can be signed.' },
        source: { type: 'string', enum: ['chain', 'built-in', 'settings'] },
        readAt: { type: 'string', format: 'date-time' },
        doubt: {
          type: 'string',
          description: 'A reported property that no read of the chain has confirmed.',
        },
      },
    },
  },
};
