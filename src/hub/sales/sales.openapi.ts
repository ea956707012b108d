import type { Json, JsonObject } from '../../platform/http/openapi.js';

/** Schemas of what a hub sells. */
export const SALES_SCHEMAS: Readonly<Record<string, JsonObject>> = {
  HubPriceWanted: {
    type: 'object',
    description: 'Signed by its owner in the strict form. An `amount` of `0` takes the price away.',
    required: ['file', 'amount'],
    properties: {
      file: { type: 'string', minLength: 1 },
      network: { type: 'string', description: 'CAIP-2.' },
      asset: { type: 'string', description: 'A token: its address.' },
      amount: { type: 'string', description: 'Atomic units.' },
      payTo: { type: 'string', description: 'The owner if absent.' },
      accessSeconds: { type: 'integer', minimum: 60, maximum: 31_536_000 },
      until: { type: 'integer', description: 'Unix seconds; nothing is sold from then on.' },
      contentType: { type: 'string', description: 'That of the file if absent.' },
      extra: {
        type: 'object',
        description:
          'How the token is paid: `name` and `version` of its EIP-712 domain, or `assetTransferMethod`.',
        additionalProperties: { type: 'string' },
      },
    },
  },
  HubPrice: {
    type: 'object',
    required: ['owner', 'file', 'amount'],
    properties: {
      owner: { type: 'string' },
      file: { type: 'string' },
      amount: { type: 'string' },
      network: { type: 'string' },
      asset: { type: 'string' },
      payTo: { type: 'string' },
      accessSeconds: { type: 'integer' },
      until: { type: 'integer' },
      contentType: { type: 'string' },
      sha256: { type: 'string' },
      size: { type: 'integer' },
      extra: { type: 'object', additionalProperties: { type: 'string' } },
    },
  },
  HubPaymentRequired: {
    type: 'object',
    description: 'x402 V2 `PaymentRequired`. `extra` of an offer names the bytes that are sold.',
    required: ['x402Version', 'error', 'resource', 'accepts'],
    properties: {
      x402Version: { type: 'integer', const: 2 },
      error: { type: 'string' },
      resource: { type: 'object', additionalProperties: true },
      extensions: { type: 'object', additionalProperties: true },
      accepts: { type: 'array', items: { type: 'object', additionalProperties: true } },
    },
  },
};

/** What a buyer may show for a download. */
export const SALES_HEADERS: Json = [
  {
    name: 'PAYMENT-SIGNATURE',
    in: 'header',
    required: false,
    schema: { type: 'string' },
    description: 'A payment for a file with a price (x402 V2).',
  },
  {
    name: 'Hub-Access',
    in: 'header',
    required: false,
    schema: { type: 'string' },
    description: 'The token that came with the bytes that were paid.',
  },
];
