import { type JsonObject, schemaRef } from '../../platform/http/openapi.js';
import { REASONS } from '../../protocol/reasons.js';

const address = { type: 'string', pattern: '^0x[0-9a-fA-F]{40}$' } as const;
const hash = { type: 'string', pattern: '^0x[0-9a-f]{64}$' } as const;
const atomicUnits = { type: 'string', pattern: '^[0-9]{1,78}$' } as const;
const unixSeconds = { type: 'string', pattern: '^[0-9]{1,78}$', description: 'Unix seconds.' };
const caip2 = { type: 'string', pattern: '^eip155:[1-9][0-9]*$', description: 'CAIP-2.' };
const signature = { type: 'string', pattern: '^0x[0-9a-fA-F]*$' };
const text = { type: 'string' } as const;
const extra = { type: 'object', additionalProperties: true };
const when = { type: 'string', format: 'date-time' };
const reason = { type: 'string', enum: Object.keys(REASONS) };
const state = {
  type: 'string',
  enum: [
    ...['queued', 'broadcast', 'included', 'finalized'],
    ...['reverted', 'expired', 'foreign', 'withdrawn'],
  ],
};

function object(
  properties: JsonObject,
  required: readonly string[] = Object.keys(properties),
  more: JsonObject = {},
): JsonObject {
  return { type: 'object', required: [...required], properties, ...more };
}

const authorization = object({
  from: address,
  to: address,
  value: atomicUnits,
  validAfter: unixSeconds,
  validBefore: unixSeconds,
  nonce: { type: 'string', pattern: '^0x[0-9a-fA-F]{64}$' },
});

/** Requests: what a good one looks like. Unknown fields are ignored. */
const REQUESTS = {
  Eip3009Payload: object({ signature, authorization }),
  Permit2Payload: object({
    signature,
    permit2Authorization: object({
      from: address,
      permitted: object({ token: address, amount: atomicUnits }),
      spender: address,
      nonce: text,
      deadline: unixSeconds,
      witness: object({ to: address, validAfter: unixSeconds }),
    }),
  }),
  RequirementsV2: object(
    {
      scheme: { type: 'string', const: 'exact' },
      network: caip2,
      amount: atomicUnits,
      asset: address,
      payTo: address,
      maxTimeoutSeconds: { type: 'integer' },
      extra,
    },
    ['scheme', 'network', 'amount', 'asset', 'payTo'],
  ),
  RequirementsV1: object(
    {
      scheme: { type: 'string', const: 'exact' },
      network: { type: 'string', description: 'A V1 short name, such as `bsc`.' },
      maxAmountRequired: atomicUnits,
      resource: text,
      description: text,
      mimeType: text,
      payTo: address,
      maxTimeoutSeconds: { type: 'integer' },
      asset: address,
      extra,
    },
    ['scheme', 'network', 'maxAmountRequired', 'payTo', 'asset'],
  ),
  RequestV2: object(
    {
      x402Version: { type: 'integer', const: 2 },
      paymentPayload: object(
        {
          x402Version: { type: 'integer', const: 2 },
          resource: extra,
          accepted: schemaRef('RequirementsV2'),
          payload: { oneOf: [schemaRef('Eip3009Payload'), schemaRef('Permit2Payload')] },
          extensions: extra,
        },
        ['x402Version', 'accepted', 'payload'],
      ),
      paymentRequirements: schemaRef('RequirementsV2'),
    },
    ['paymentPayload', 'paymentRequirements'],
  ),
  RequestV1: object(
    {
      x402Version: { type: 'integer', const: 1 },
      paymentPayload: object({
        x402Version: { type: 'integer', const: 1 },
        scheme: { type: 'string', const: 'exact' },
        network: text,
        payload: schemaRef('Eip3009Payload'),
      }),
      paymentRequirements: schemaRef('RequirementsV1'),
    },
    ['paymentPayload', 'paymentRequirements'],
  ),
} satisfies JsonObject;

const ANSWERS = {
  Reason: { ...reason, description: 'All of them with their meaning: `docs/errors.md`.' },
  VerifyAnswer: object(
    {
      isValid: { type: 'boolean' },
      invalidReason: schemaRef('Reason'),
      invalidMessage: text,
      payer: text,
    },
    ['isValid'],
    {
      additionalProperties: false,
      if: { properties: { isValid: { const: false } } },
      then: { required: ['invalidReason', 'invalidMessage'] },
      else: { required: ['payer'] },
    },
  ),
  SettleAnswer: object(
    {
      success: { type: 'boolean' },
      errorReason: schemaRef('Reason'),
      errorMessage: text,
      payer: text,
      transaction: {
        description: 'The hash once one is known, else empty.',
        anyOf: [hash, { const: '' }],
      },
      network: { type: 'string', description: 'In the form the request named it.' },
      extra: object(
        {
          settlementId: text,
          logIndex: { type: 'integer' },
          batchSize: { type: 'integer' },
        },
        ['settlementId'],
        { additionalProperties: false },
      ),
    },
    ['success', 'transaction', 'network'],
    {
      additionalProperties: false,
      if: { properties: { success: { const: true } } },
      then: { properties: { transaction: hash }, required: ['extra', 'payer'] },
    },
  ),
  SelfDescription: object({ endpoint: text, description: text, body: extra }),
  Supported: object(
    {
      kinds: {
        type: 'array',
        items: object(
          {
            x402Version: { type: 'integer', enum: [1, 2] },
            scheme: { type: 'string', const: 'exact' },
            network: text,
          },
          ['x402Version', 'scheme', 'network'],
          { additionalProperties: false },
        ),
      },
      extensions: { type: 'array', items: text },
      signers: {
        type: 'object',
        additionalProperties: { type: 'array', items: address },
      },
    },
    ['kinds', 'extensions', 'signers'],
    { additionalProperties: false },
  ),
  Settlement: object(
    {
      settlementId: text,
      source: { type: 'string', const: 'ledger' },
      state,
      paid: { type: 'boolean', description: 'Whether the payee has been paid by it.' },
      finality: { type: 'string', enum: ['none', 'included', 'finalized'] },
      sale: {
        type: 'string',
        enum: ['open', 'sold'],
        description: '`sold`: a request was told success, or was handed the 202.',
      },
      reason: schemaRef('Reason'),
      transaction: hash,
      transactions: { type: 'array', items: hash },
      block: object({ number: atomicUnits, hash }, ['number']),
      logIndex: { type: 'integer' },
      batchSize: { type: 'integer' },
      payment: object({
        network: caip2,
        scheme: text,
        method: { type: 'string', enum: ['eip3009', 'permit2'] },
        asset: address,
        payer: address,
        payTo: address,
        amount: atomicUnits,
        nonce: text,
        deadline: unixSeconds,
      }),
      times: object(
        { arrived: when, claimed: when, allocated: when, included: when, finished: when },
        [],
      ),
    },
    ['settlementId', 'source', 'state', 'paid', 'finality', 'sale'],
    { additionalProperties: false },
  ),
  ChainUse: object(
    {
      source: { type: 'string', const: 'chain' },
      used: { type: 'boolean' },
      method: { type: 'string', enum: ['eip3009', 'permit2'] },
      transaction: hash,
      block: object({ number: atomicUnits }),
    },
    ['source', 'used'],
    {
      additionalProperties: false,
      description: 'What the chain says of an authorization that the ledger does not know.',
    },
  ),
  Settlements: object({ settlements: { type: 'array', items: schemaRef('Settlement') } }),
  FoundSettlement: {
    anyOf: [schemaRef('Settlements'), schemaRef('Settlement'), schemaRef('ChainUse')],
  },
  VerifyOrDescription: { anyOf: [schemaRef('VerifyAnswer'), schemaRef('SelfDescription')] },
  SettlementOrDescription: { anyOf: [schemaRef('Settlement'), schemaRef('SelfDescription')] },
  Problem: object({ error: text, reason: schemaRef('Reason') }, ['error']),
  ProblemOrChainUse: { anyOf: [schemaRef('Problem'), schemaRef('ChainUse')] },
} satisfies JsonObject;

/** Schemas of the facilitator's requests and answers, JSON Schema 2020-12. */
export const FACILITATOR_SCHEMAS = { ...REQUESTS, ...ANSWERS };
