import { schemasOf } from '../../platform/http/dto-schemas.js';
import { type JsonObject, schemaRef } from '../../platform/http/openapi.js';
import {
  ADDRESS_SCHEMA as address,
  ATOMIC_UNITS_SCHEMA as atomicUnits,
  NONCE_SCHEMA as nonce,
  TEXT_SCHEMA as text,
  UNIX_SECONDS_SCHEMA as unixSeconds,
} from '../../protocol/payment/wire-schemas.js';
import { REASONS } from '../../protocol/reasons.js';
import { allMethodNames, allSchemes } from '../../protocol/schemes/registry.js';
import { V1PaymentRequestDto, V2PaymentRequestDto } from '../dto/payment-request.dto.js';
import {
  anything,
  caip2,
  hash,
  hashOrEmpty,
  object,
  oneText,
  payerOrEmpty,
  settlementId,
  when,
} from './values.js';

const reason = { type: 'string', enum: Object.keys(REASONS) };
const state = {
  type: 'string',
  enum: [
    'queued',
    'broadcast',
    'included',
    'finalized',
    'reverted',
    'expired',
    'foreign',
    'withdrawn',
  ],
};

const method = { type: 'string', enum: allMethodNames() };

const explained = object({ diagnosis: schemaRef('Diagnosis') }, ['diagnosis'], {
  additionalProperties: false,
});

const ANSWERS = {
  Diagnosis: object(
    {
      path: { type: 'string', description: 'Where in the body; absent if no field is at fault.' },
      expected: text,
      got: {
        type: 'string',
        description:
          'The value as it came, if it is short and hexadecimal, decimal or a known word; else a description.',
      },
      fault: oneText(['buyer', 'seller', 'facilitator', 'chain']),
      retry: oneText(['never', 'same', 'new-payment', 'later']),
      docs: text,
      transaction: {
        type: 'string',
        description: 'The transaction of another sender that paid exactly this.',
      },
    },
    ['fault', 'retry', 'docs'],
    { additionalProperties: false },
  ),
  Reason: { ...reason, description: 'All of them with their meaning: `docs/errors.md`.' },
  VerifyAnswer: object(
    {
      isValid: { type: 'boolean' },
      invalidReason: schemaRef('Reason'),
      invalidMessage: text,
      payer: payerOrEmpty,
      extra: { type: 'object', description: 'What the scheme says of a good payment.' },
      extensions: explained,
    },
    ['isValid'],
    {
      additionalProperties: false,
      dependentRequired: { invalidReason: ['invalidMessage', 'extensions'] },
      if: { properties: { isValid: { const: false } } },
      then: { required: ['invalidReason', 'invalidMessage', 'extensions'] },
      else: { required: ['payer'], properties: { payer: address } },
    },
  ),
  SettleAnswer: object(
    {
      success: { type: 'boolean' },
      errorReason: schemaRef('Reason'),
      errorMessage: text,
      payer: payerOrEmpty,
      transaction: hashOrEmpty,
      network: { type: 'string', description: 'In the form the request named it.' },
      amount: {
        ...atomicUnits,
        description: 'The settled amount, in schemes where it may be below the signed one.',
      },
      extra: object(
        {
          settlementId,
          logIndex: { type: 'integer', minimum: 0 },
          batchSize: { type: 'integer', minimum: 1 },
        },
        ['settlementId'],
        { additionalProperties: false },
      ),
      extensions: explained,
    },
    ['success', 'transaction', 'network'],
    {
      additionalProperties: false,
      dependentRequired: { errorReason: ['errorMessage', 'extensions'] },
      if: { properties: { success: { const: true } } },
      then: {
        // What costs nothing is settled without a transaction.
        if: { properties: { amount: { const: '0' } }, required: ['amount'] },
        else: { properties: { transaction: hash } },
        properties: { payer: address },
        required: ['extra', 'payer'],
      },
    },
  ),
  SelfDescription: object({
    endpoint: text,
    description: text,
    body: object({ paymentPayload: text, paymentRequirements: text }),
  }),
  Supported: object(
    {
      kinds: {
        type: 'array',
        items: object(
          {
            x402Version: { type: 'integer', enum: [1, 2] },
            scheme: oneText(allSchemes().map(({ name }) => name)),
            network: text,
            ...(allSchemes().some((scheme) => scheme.kindExtra !== undefined) && {
              extra: anything,
            }),
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
      settlementId,
      source: {
        type: 'string',
        enum: ['ledger', 'archive', 'simulation'],
        description:
          '`archive`: it has left the ledger, and is as it was last archived. `simulation`: it was played, by `X-Simulate`.',
      },
      state,
      paid: { type: 'boolean', description: 'Whether the payee has been paid by it.' },
      finality: { type: 'string', enum: ['none', 'included', 'finalized'] },
      sale: {
        type: 'string',
        enum: ['open', 'sold'],
        description: '`sold`: one request was answered with success or with 202.',
      },
      reason: schemaRef('Reason'),
      transaction: hash,
      transactions: { type: 'array', items: hash },
      block: object({ number: atomicUnits, hash }, ['number']),
      logIndex: { type: 'integer' },
      batchSize: { type: 'integer' },
      payment: object(
        {
          network: caip2,
          scheme: text,
          method,
          asset: address,
          payer: address,
          payTo: address,
          amount: { ...atomicUnits, description: 'The amount that was signed.' },
          settledAmount: {
            ...atomicUnits,
            description: 'Of a scheme that may settle less than was signed.',
          },
          nonce,
          deadline: unixSeconds,
        },
        ['network', 'scheme', 'method', 'asset', 'payer', 'payTo', 'amount', 'nonce', 'deadline'],
      ),
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
      paid: { type: 'boolean' },
      payment: { type: 'object', additionalProperties: text },
      method,
      transaction: hash,
      block: object({ number: atomicUnits }),
    },
    ['source', 'used', 'paid'],
    {
      additionalProperties: false,
      description: 'What the chain says of an authorization that the ledger does not know.',
    },
  ),
  Settlements: object(
    {
      settlements: {
        type: 'array',
        items: { anyOf: [schemaRef('Settlement'), schemaRef('ChainUse')] },
      },
      nextCursor: { ...text, description: 'Of a list: where its next page begins.' },
    },
    ['settlements'],
  ),
  FoundSettlement: {
    anyOf: [schemaRef('Settlements'), schemaRef('Settlement'), schemaRef('ChainUse')],
  },
  VerifyOrDescription: { anyOf: [schemaRef('VerifyAnswer'), schemaRef('SelfDescription')] },
  SettlementOrDescription: { anyOf: [schemaRef('Settlement'), schemaRef('SelfDescription')] },
  Problem: object({ error: text, reason: schemaRef('Reason'), code: text }, ['error']),
  ProblemOrChainUse: { anyOf: [schemaRef('Problem'), schemaRef('ChainUse')] },
} satisfies JsonObject;

/** Schemas of the facilitator's requests and answers, JSON Schema 2020-12. */
export const FACILITATOR_SCHEMAS = {
  ...schemasOf(V2PaymentRequestDto, V1PaymentRequestDto),
  ...ANSWERS,
};
