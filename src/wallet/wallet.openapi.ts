import { z } from 'zod';
import {
  jsonAnswer,
  type Json,
  type JsonObject,
  OPEN,
  type OpenApiPart,
  schemaRef,
} from '../platform/http/openapi.js';
import { RefusalOutput } from './tools/refusal.js';
import {
  BalanceOutput,
  HistoryOutput,
  PayInput,
  PaymentOutput,
  PolicyOutput,
  QuoteInput,
  QuoteOutput,
  WalletOutput,
} from './tools/shapes.js';
import { PolicyText } from './rules/policy.js';

const TOKEN: Json = [{ walletToken: [] }];
const ADDRESS = '0x90F79bf6EB2c4f870365E785982E1f101E93b906';

/** Of what is checked by the schema itself, so that the two cannot differ. */
function described(schema: z.ZodType, io: 'input' | 'output'): JsonObject {
  const written = z.toJSONSchema(schema, { io });
  // The document says for all which dialect it is.
  delete written.$schema;
  return JSON.parse(JSON.stringify(written)) as JsonObject;
}

const text = { type: 'string' };
const object = (properties: Readonly<Record<string, JsonObject>>, more: JsonObject = {}) => ({
  type: 'object',
  required: Object.keys(properties),
  properties,
  ...more,
});

const refusal = (description: string, example: JsonObject, headers?: readonly string[]) =>
  jsonAnswer(description, 'WalletRefusal', example, headers);

/** What any route may answer. */
const COMMON: JsonObject = {
  400: refusal('It cannot be understood.', { error: 'The body is not JSON.' }),
  429: refusal(
    'Too many requests.',
    { error: 'Too many requests.', code: 'rate_limited', retryAfterSeconds: 20 },
    ['Retry-After'],
  ),
  503: refusal('Redis, the chain or the provider cannot be asked now. Ask again.', {
    error: 'The wallet cannot be asked now. Ask again.',
    code: 'unavailable',
  }),
};
const WITH_BODY: JsonObject = {
  408: refusal('The body did not come in time.', { error: 'The body did not arrive in time.' }),
  413: refusal('The body is too large.', { error: 'The body is too large.' }),
};
const WITH_TOKEN: JsonObject = {
  401: refusal(
    'No token, or none that is good.',
    { error: 'authorization token has expired', code: 'unauthorized' },
    ['WWW-Authenticate'],
  ),
  423: refusal('Locked until it is restored from the journal, after a loss of Redis.', {
    error: 'The wallet is locked.',
    code: 'wallet_locked',
  }),
};
const FORBIDDEN: JsonObject = {
  403: refusal('A rule says no, or what is asked for is not for this token.', {
    error: 'It is more than is left of the budget: 0.9 of 1 in 24 hours.',
    code: 'policy_violation',
    rule: 'budget',
    howToChange: 'The owner signs in and sends new rules. An agent cannot.',
  }),
};
const CONFLICT: JsonObject = {
  409: refusal('It was used for something else before.', {
    error: 'This intent was used for another request before.',
    code: 'conflict',
  }),
};
const NOT_FOUND: JsonObject = {
  404: refusal('There is no such thing.', {
    error: 'There is no such intent.',
    code: 'not_found',
  }),
};
/** Of routes that ask somebody else. */
const OUTSIDE: JsonObject = {
  422: refusal('The seller asks for what this wallet cannot pay.', {
    error: 'The server asks for payment, but not by x402.',
    code: 'no_acceptable_offer',
  }),
  502: refusal('Somebody else did not answer, or it is not known what came of it.', {
    error: 'The server could not be reached.',
    code: 'fetch_failed',
  }),
};

interface Facts {
  readonly answer: JsonObject;
  readonly body?: JsonObject;
  readonly parameters?: Json;
  readonly description?: string;
  /** Answers beyond those of every route. */
  readonly more?: JsonObject;
}

function operation(
  operationId: string,
  summary: string,
  security: Json,
  { answer, body, parameters, description, more }: Facts,
): JsonObject {
  return {
    operationId,
    tags: ['Agent wallet'],
    summary,
    security,
    ...(description !== undefined && { description }),
    ...(parameters !== undefined && { parameters }),
    ...(body !== undefined && { requestBody: body }),
    responses: {
      200: answer,
      ...COMMON,
      ...(body !== undefined && WITH_BODY),
      ...(security === TOKEN && WITH_TOKEN),
      ...more,
    },
  };
}

const json = (schema: JsonObject, example?: Json): JsonObject => ({
  required: true,
  description: 'JSON, whatever its content type says.',
  content: { 'application/json': { schema, ...(example !== undefined && { example }) } },
});

const SIGNED = {
  address: { ...text, maxLength: 64 },
  message: { ...text, maxLength: 4096 },
  signature: { ...text, maxLength: 256, description: 'EIP-191, 65 bytes.' },
};
const USER_CODE = { ...text, maxLength: 64, description: 'As the link names it.' };
const DEVICE_CODE = { ...text, maxLength: 128, description: 'The agent’s secret.' };
const CLOSED = { additionalProperties: false };

const SIGN_IN_PATHS: OpenApiPart['paths'] = {
  '/v1/init': {
    post: operation('walletInit', 'An agent asks to be let in.', OPEN, {
      description:
        'A body is not looked at. The owner opens `auth_url` and compares `user_code`; the agent polls ' +
        'the status with `code`, which it shows to nobody (RFC 8628).',
      answer: jsonAnswer('Two codes, and the page on which its owner approves.', 'WalletCode'),
    }),
  },
  '/v1/status': {
    get: operation('walletStatus', 'Whether the owner has approved; the token, once.', OPEN, {
      description: 'The same by POST keeps the code out of the logs of whatever stands between.',
      parameters: [{ name: 'code', in: 'query', required: true, schema: DEVICE_CODE }],
      answer: jsonAnswer('`token` comes with the first answer after the approval.', 'WalletStatus'),
      more: NOT_FOUND,
    }),
    post: operation('walletCollect', 'Whether the owner has approved; the token, once.', OPEN, {
      body: json(object({ code: DEVICE_CODE }, CLOSED)),
      answer: jsonAnswer('`token` comes with the first answer after the approval.', 'WalletStatus'),
      more: NOT_FOUND,
    }),
  },
  '/v1/login/nonce': {
    post: operation('walletLoginNonce', 'The message an owner signs to sign in.', OPEN, {
      body: json(object({ address: SIGNED.address }, CLOSED), { address: ADDRESS }),
      answer: jsonAnswer('It can be used once, within ten minutes.', 'WalletChallenge'),
    }),
  },
  '/v1/login': {
    post: operation('walletLogin', 'An owner signs in.', OPEN, {
      body: json(object(SIGNED, CLOSED)),
      answer: jsonAnswer('A token of the owner, good for 15 minutes.', 'WalletToken'),
      more: { 401: WITH_TOKEN['401'] ?? {}, 403: FORBIDDEN['403'] ?? {} },
    }),
  },
  '/v1/approve/nonce': {
    post: operation('walletApproveNonce', 'The message that lets an agent in.', OPEN, {
      body: json(object({ code: USER_CODE, address: SIGNED.address }, CLOSED)),
      answer: jsonAnswer('It names the code and the rules.', 'WalletApprovalChallenge'),
      more: { ...NOT_FOUND, ...CONFLICT },
    }),
  },
  '/v1/approve': {
    post: operation('walletApprove', 'An owner lets an agent in.', OPEN, {
      body: json(object({ code: USER_CODE, ...SIGNED }, CLOSED)),
      answer: jsonAnswer('The agent may collect its token.', 'WalletApproved'),
      more: { 401: WITH_TOKEN['401'] ?? {}, ...NOT_FOUND, ...CONFLICT },
    }),
  },
  '/v1/logout': {
    post: operation('walletLogout', 'Ends the token it comes with.', TOKEN, {
      answer: jsonAnswer('It is good for nothing now.', 'WalletRevoked'),
    }),
  },
  '/v1/logout/all': {
    post: operation('walletLogoutAll', 'Ends every token of the wallet. For its owner.', TOKEN, {
      answer: jsonAnswer('They are good for nothing now.', 'WalletRevoked'),
      more: FORBIDDEN,
    }),
  },
};

const RULES_ANSWER = jsonAnswer('The rules, and what is left of them.', 'WalletPolicy');
const OWNER_PARAMETER = {
  name: 'owner',
  in: 'query',
  required: false,
  description: 'Whose wallet, where an admin key is the token.',
  schema: text,
};

const WALLET_PATHS: OpenApiPart['paths'] = {
  '/v1/wallets/me': {
    get: operation('walletGet', 'The wallet of this token.', TOKEN, {
      answer: jsonAnswer('Made when its owner first signed in.', 'Wallet'),
    }),
  },
  '/v1/wallets/me/balance': {
    get: operation('walletBalance', 'What it holds of each token it can pay in.', TOKEN, {
      answer: jsonAnswer('Balances.', 'WalletBalances'),
    }),
  },
  '/v1/wallets/me/policy': {
    get: operation('walletPolicy', 'The rules of the wallet.', TOKEN, { answer: RULES_ANSWER }),
    put: operation('walletSetPolicy', 'New rules. For its owner, or an admin key.', TOKEN, {
      parameters: [OWNER_PARAMETER],
      body: json(schemaRef('WalletRules'), {
        limits: [
          {
            asset: 'eip155:56/0xce24439f2d9c6a2289f741120fe202248b666666',
            perPayment: '1000000000000000000',
            budget: '10000000000000000000',
          },
        ],
      }),
      answer: RULES_ANSWER,
      more: FORBIDDEN,
    }),
  },
  '/v1/wallets/me/stop': {
    post: operation('walletStop', 'The kill switch.', TOKEN, {
      description: 'For anybody with a token. Only new rules start the wallet again.',
      answer: RULES_ANSWER,
    }),
  },
  '/v1/wallets/me/payments/quote': {
    post: operation('walletQuote', 'What a URL costs; pays nothing.', TOKEN, {
      body: json(schemaRef('WalletQuoteRequest'), { url: 'https://seller.example/report' }),
      answer: jsonAnswer('The offers, and whether the rules allow each.', 'WalletQuote'),
      more: { ...FORBIDDEN, ...OUTSIDE },
    }),
  },
  '/v1/wallets/me/payments': {
    get: operation('walletPayments', 'The newest purchases, without what was answered.', TOKEN, {
      parameters: [
        {
          ...{ name: 'limit', in: 'query', required: false },
          schema: { type: 'integer', minimum: 1, maximum: 100, default: 20 },
        },
      ],
      answer: jsonAnswer('Newest first.', 'WalletPayments'),
    }),
    post: operation('walletPay', 'Fetches a URL and pays for it.', TOKEN, {
      description: 'One `intentId` pays once, however often it is asked for.',
      body: json(schemaRef('WalletPurchase'), {
        url: 'https://seller.example/report',
        maxAmount: '0.10',
        intentId: 'report-of-2026-11-21',
      }),
      answer: jsonAnswer('What came of it; `status` says what.', 'WalletPayment'),
      more: { ...FORBIDDEN, ...CONFLICT, ...OUTSIDE },
    }),
  },
  '/v1/wallets/me/payments/{intentId}': {
    get: operation('walletPayment', 'What became of a purchase.', TOKEN, {
      parameters: [{ name: 'intentId', in: 'path', required: true, schema: text }],
      answer: jsonAnswer('As the purchase was answered.', 'WalletPayment'),
      more: NOT_FOUND,
    }),
  },
  '/v1/wallets/me/rpc': {
    post: operation('walletRpc', 'Signs, sends or reads, within the rules.', TOKEN, {
      parameters: [
        {
          ...{ name: 'Idempotency-Key', in: 'header', required: false },
          description: 'Answered once for a day; `privy-idempotency-key` means the same.',
          schema: { ...text, maxLength: 256 },
        },
      ],
      body: json(schemaRef('WalletCall'), {
        method: 'eth_getBalance',
        caip2: 'eip155:56',
        params: {},
      }),
      answer: jsonAnswer('The method, and what it gave.', 'WalletReply'),
      more: { ...FORBIDDEN, ...CONFLICT, 502: OUTSIDE['502'] ?? {} },
    }),
  },
  '/mcp': {
    post: operation('walletMcp', 'The wallet as tools of the Model Context Protocol.', TOKEN, {
      description:
        'Streamable HTTP without sessions, revisions 2026-07-28 and 2025-11-25 to 2024-10-07. The messages are those of the protocol.',
      body: json({ type: 'object', required: ['jsonrpc', 'method'], additionalProperties: true }),
      answer: {
        description: 'A message of the protocol, or a stream that ends with it.',
        content: {
          'application/json': { schema: { type: 'object', additionalProperties: true } },
          'text/event-stream': { schema: text },
        },
      },
      more: {
        ...FORBIDDEN,
        202: { description: 'A notification was taken.' },
        405: refusal('Nothing but POST.', { error: 'POST is expected here.' }),
        406: { description: 'The client does not accept both types of answers.' },
        415: { description: 'The content type is not `application/json`.' },
      },
    }),
  },
};

/** What the wallet serves, described; only where it runs. */
export const WALLET_OPENAPI: OpenApiPart = {
  tags: [
    {
      name: 'Agent wallet',
      description: 'Wallets of owners, from which their agents pay within the rules.',
    },
  ],
  paths: { ...SIGN_IN_PATHS, ...WALLET_PATHS },
  schemas: {
    WalletRefusal: described(
      RefusalOutput.partial({ code: true }).describe(
        '`code` is absent where the request could not be read.',
      ),
      'output',
    ),
    WalletCode: object({ code: DEVICE_CODE, user_code: text, auth_url: text, authUrl: text }),
    WalletStatus: {
      type: 'object',
      required: ['status'],
      properties: { status: { enum: ['pending', 'completed'] }, token: text },
    },
    WalletChallenge: object({
      nonce: text,
      message: { ...text, description: 'EIP-4361.' },
      expiresAt: { type: 'integer', description: 'Unix seconds.' },
    }),
    WalletApprovalChallenge: object({
      nonce: text,
      message: text,
      expiresAt: { type: 'integer' },
      rules: { ...text, description: 'The rules in words.' },
    }),
    WalletToken: object({ token: text }),
    WalletApproved: object({ status: { const: 'approved' } }),
    WalletRevoked: object({ status: { const: 'revoked' } }),
    Wallet: described(WalletOutput.extend({ ethereum: z.string() }), 'output'),
    WalletBalances: described(BalanceOutput, 'output'),
    WalletRules: described(PolicyText, 'input'),
    WalletPolicy: described(PolicyOutput, 'output'),
    WalletQuoteRequest: described(QuoteInput, 'input'),
    WalletQuote: described(QuoteOutput, 'output'),
    WalletPurchase: described(PayInput, 'input'),
    WalletPayment: described(PaymentOutput, 'output'),
    WalletPayments: described(HistoryOutput, 'output'),
    WalletCall: {
      type: 'object',
      required: ['method'],
      properties: {
        method: {
          enum: [
            ...['personal_sign', 'eth_signTypedData_v4', 'eth_sendTransaction'],
            ...['eth_getBalance', 'eth_call'],
          ],
        },
        caip2: { ...text, description: 'For all but the two that sign without sending.' },
        params: { type: ['object', 'array'] },
      },
      additionalProperties: true,
    },
    WalletReply: object({ method: text, data: { type: 'object', additionalProperties: true } }),
  },
  securitySchemes: {
    walletToken: {
      type: 'http',
      scheme: 'bearer',
      description: "An agent's or an owner's token. `/mcp` takes an agent's alone.",
    },
  },
};
