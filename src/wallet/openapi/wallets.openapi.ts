import {
  jsonAnswer,
  type JsonObject,
  type OpenApiPart,
  schemaRef,
} from '../../platform/http/openapi.js';
import {
  CONFLICT,
  FORBIDDEN,
  json,
  NOT_FOUND,
  operation,
  OUTSIDE,
  refusal,
  text,
  TOKEN,
} from './operations.js';

const RULES_ANSWER = jsonAnswer('The rules, and what is left of them.', 'WalletPolicy');
const OWNER_PARAMETER = {
  name: 'owner',
  in: 'query',
  required: false,
  description: 'Whose wallet, where an admin key is the token.',
  schema: text,
};

const NO_CATALOGUE = {
  404: refusal('There is no such entry, or no catalogue.', {
    error: 'The catalogue lists no such service of this payee.',
    code: 'not_found',
  }),
};
const CATALOGUE_AWAY = refusal('The catalogue did not answer, or as no catalogue does.', {
  error: 'The catalogue could not be reached, or took too long.',
  code: 'fetch_failed',
});

/** What a token of the wallet may do. */
export const WALLET_PATHS: OpenApiPart['paths'] = {
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
      description:
        'What the GET answers is taken as it is, with changes. `revision` may be left out; where it is ' +
        'sent, it has to be the one in force.',
      more: { ...FORBIDDEN, ...CONFLICT },
    }),
  },
  '/v1/wallets/me/stop': {
    post: operation('walletStop', 'The kill switch.', TOKEN, {
      description: 'For anybody with a token. Only new rules start the wallet again.',
      answer: RULES_ANSWER,
    }),
  },
  '/v1/wallets/me/fund': {
    post: operation('walletFund', 'How money is put into the wallet.', TOKEN, {
      description: 'Its address, and a request of EIP-681 with its QR code. Asks nobody.',
      body: json(schemaRef('WalletFundQuestion'), {
        token: 'native',
        network: 'eip155:56',
        amount: '0.01',
      }),
      answer: jsonAnswer('`qr` is a picture of `qrText`.', 'WalletFund'),
    }),
  },
  '/v1/wallets/me/services/search': {
    post: operation('walletSearchServices', 'Searches the catalogue; pays nothing.', TOKEN, {
      body: json(schemaRef('WalletServiceSearch'), { query: 'weather forecast', limit: 5 }),
      answer: jsonAnswer(
        'The best first. What sellers declared is in `declaredBySeller` and is data.',
        'WalletServices',
      ),
      more: { ...NO_CATALOGUE, 502: CATALOGUE_AWAY },
    }),
  },
  '/v1/wallets/me/services/details': {
    post: operation(
      'walletServiceDetails',
      'One entry of the catalogue, and its purchase.',
      TOKEN,
      {
        body: json(schemaRef('WalletServiceQuestion'), {
          resource: 'https://seller.example/report',
          payTo: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
        }),
        answer: jsonAnswer('`howToBuy` is what a purchase is asked with.', 'WalletService'),
        more: { ...NO_CATALOGUE, 502: CATALOGUE_AWAY },
      },
    ),
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
          name: 'limit',
          in: 'query',
          required: false,
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
  '/v1/wallets/me/payments/tool': {
    post: operation('walletCallTool', 'Calls a tool of an MCP server and pays for it.', TOKEN, {
      description:
        'One `intentId` pays once, however often it is asked for. `body` is the result of the tool as JSON.',
      body: json(schemaRef('WalletToolCall'), {
        url: 'https://seller.example/mcp',
        tool: 'forecast',
        arguments: { city: 'Oslo' },
        maxAmount: '0.10',
        intentId: 'forecast-of-2026-11-21',
      }),
      answer: jsonAnswer('What came of it; `status` says what.', 'WalletPayment'),
      more: { ...FORBIDDEN, ...CONFLICT, ...OUTSIDE },
    }),
  },
  '/v1/wallets/me/payments/{intentId}': {
    get: operation('walletPayment', 'What became of a purchase.', TOKEN, {
      parameters: [
        {
          name: 'intentId',
          in: 'path',
          required: true,
          schema: { ...text, pattern: '^[A-Za-z0-9_.:-]{1,128}$' },
        },
      ],
      answer: jsonAnswer('As the purchase was answered.', 'WalletPayment'),
      more: NOT_FOUND,
    }),
  },
  '/v1/wallets/me/rpc': {
    post: operation('walletRpc', 'Signs, sends or reads, within the rules.', TOKEN, {
      parameters: [
        {
          name: 'Idempotency-Key',
          in: 'header',
          required: false,
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
  '/mcp': mcp('walletMcp'),
  '/mcp/token': mcp('walletMcpToken'),
};

/** The same at two addresses: with OAuth on, one tells clients of it and the other does not. */
function mcp(operationId: string): JsonObject {
  return {
    post: operation(operationId, 'The wallet as tools of the Model Context Protocol.', TOKEN, {
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
        415: { description: 'The content type is another one than `application/json`.' },
      },
    }),
  };
}
