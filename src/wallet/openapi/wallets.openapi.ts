import { applyDecorators } from '@nestjs/common';
import { ApiHeader, ApiQuery } from '@nestjs/swagger';
import { free, type Json, jsonAnswer, type JsonObject, text } from '../../platform/http/openapi.js';
import {
  answersOf,
  CONFLICT,
  DescribesWithToken,
  FORBIDDEN,
  operationOf,
  OUTSIDE,
  refusal,
  TOKEN,
} from './operations.js';

export const RULES_ANSWER = jsonAnswer('The rules, and what is left of them.', 'WalletPolicy');

export const NO_CATALOGUE = {
  404: refusal('There is no such entry, or no catalogue.', {
    error: 'The catalogue does not list this service of this payee.',
    code: 'not_found',
  }),
  502: refusal('The catalogue did not answer, or as no catalogue does.', {
    error: 'The catalogue could not be reached, or did not answer in time.',
    code: 'fetch_failed',
  }),
};

export const SERVICE = {
  resource: 'https://seller.example/report',
  payTo: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
};
export const PURCHASE = {
  url: 'https://seller.example/report',
  maxAmount: '0.10',
  intentId: 'report-of-2026-11-21',
};
export const TOOL_CALL = {
  url: 'https://seller.example/mcp',
  tool: 'forecast',
  arguments: { city: 'Oslo' },
  maxAmount: '0.10',
  intentId: 'forecast-of-2026-11-21',
};

/** The description of a payment operation. */
export const DescribesPurchase = (
  operationId: string,
  summary: string,
  description: string,
  body: readonly [schema: string, example: Json],
): MethodDecorator =>
  DescribesWithToken(operationId, summary, {
    description,
    body,
    answer: jsonAnswer('The outcome, as `status` says.', 'WalletPayment'),
    more: { ...FORBIDDEN, ...CONFLICT, ...OUTSIDE },
  });

/** The description of `PUT /v1/wallets/me/policy`. */
export const DescribesNewRules = (): MethodDecorator =>
  applyDecorators(
    ApiQuery({
      name: 'owner',
      required: false,
      description: 'Whose wallet, where an admin key is the token.',
      schema: text,
    }),
    DescribesWithToken('walletSetPolicy', 'New rules. For its owner, or an admin key.', {
      body: [
        'WalletRules',
        {
          limits: [
            {
              asset: 'eip155:56/0xce24439f2d9c6a2289f741120fe202248b666666',
              perPayment: '1000000000000000000',
              budget: '10000000000000000000',
            },
          ],
        },
      ],
      answer: RULES_ANSWER,
      description:
        'What the GET answers is taken as it is, with changes. `revision` may be left out; where it is ' +
        'sent, it has to be the one in force.',
      more: { ...FORBIDDEN, ...CONFLICT },
    }),
  );

/** The description of `POST /v1/wallets/me/rpc`. */
export const DescribesRpc = (): MethodDecorator =>
  applyDecorators(
    ApiHeader({
      name: 'Idempotency-Key',
      required: false,
      description: 'Answered once for a day; `privy-idempotency-key` means the same.',
      schema: { ...text, maxLength: 256 },
    }),
    DescribesWithToken('walletRpc', 'Signs, sends or reads, within the rules.', {
      body: ['WalletCall', { method: 'eth_getBalance', caip2: 'eip155:56', params: {} }],
      answer: jsonAnswer('The method, and what it gave.', 'WalletReply'),
      more: { ...FORBIDDEN, ...CONFLICT, 502: OUTSIDE[502] },
    }),
  );

/** Written by hand, because their handlers answer to every method. */
export const MCP_PATHS: Readonly<Record<string, JsonObject>> = {
  '/mcp': mcp('walletMcp'),
  '/mcp/token': mcp('walletMcpToken'),
};

/** The same at two addresses: with OAuth on, one announces it to clients and the other does not. */
function mcp(operationId: string): JsonObject {
  const facts = {
    security: TOKEN,
    description:
      'Streamable HTTP without sessions, revisions 2026-07-28 and 2025-11-25 to 2024-10-07. The messages are those of the protocol.',
    body: [{ type: 'object', required: ['jsonrpc', 'method'], additionalProperties: true }],
    answer: {
      description: 'A message of the protocol, or a stream that ends with it.',
      content: { 'application/json': { schema: free }, 'text/event-stream': { schema: text } },
    },
    more: {
      ...FORBIDDEN,
      202: { description: 'A notification was taken.' },
      405: refusal('The method is not POST.', { error: 'This path accepts only POST.' }),
      406: { description: 'The client does not accept both types of answers.' },
      415: { description: 'The content type is another one than `application/json`.' },
    },
  } as const;
  const shown = operationOf(
    operationId,
    'The wallet as tools of the Model Context Protocol.',
    facts,
  );
  return { post: { ...(shown as JsonObject), responses: answersOf(facts) as JsonObject } };
}
