import { jsonAnswer, OPEN, type OpenApiPart } from '../../platform/http/openapi.js';
import {
  CONFLICT,
  FORBIDDEN,
  json,
  NOT_FOUND,
  object,
  operation,
  text,
  TOKEN,
  WITH_TOKEN,
} from './operations.js';
import { SIGNED, signedBody } from './sign-in.openapi.js';

const ASK = {
  name: 'ask',
  in: 'path',
  required: true,
  description: 'As the link names it.',
  schema: { ...text, minLength: 1, maxLength: 64 },
};
const CLOSED = { additionalProperties: false };
const NEEDS_OWNER = { ...FORBIDDEN, ...NOT_FOUND, ...CONFLICT };

/** What owners are asked about payments above `askAbove`, and how they answer. */
export const ASK_PATHS: OpenApiPart['paths'] = {
  '/v1/wallets/me/asks': {
    get: operation('walletAsks', 'What the owner is asked, and has not run out.', TOKEN, {
      answer: jsonAnswer('The next to run out first; 20 at most.', 'WalletAsks'),
    }),
  },
  '/v1/asks/{ask}': {
    get: operation('walletAsk', 'What the owner is asked.', OPEN, {
      description: 'For whoever has the link.',
      parameters: [ASK],
      answer: jsonAnswer('One payment.', 'WalletAsk'),
      more: NOT_FOUND,
    }),
  },
  '/v1/asks/{ask}/nonce': {
    post: operation('walletAskNonce', 'The message that approves this payment.', OPEN, {
      description: 'It names payee, amount, asset, network, URL, purchase and expiry.',
      parameters: [ASK],
      body: json(object({ address: SIGNED.address }, CLOSED)),
      answer: jsonAnswer('It can be used once, within ten minutes.', 'WalletChallenge'),
      more: NEEDS_OWNER,
    }),
  },
  '/v1/asks/{ask}/approve': {
    post: operation('walletAskApprove', 'The owner approves this payment.', OPEN, {
      description: 'It is paid when the agent asks for the purchase again, once, until it expires.',
      parameters: [ASK],
      body: json(signedBody()),
      answer: jsonAnswer('It is in the journal.', 'WalletApproved'),
      more: { ...NEEDS_OWNER, 401: WITH_TOKEN['401'] ?? {} },
    }),
  },
  '/v1/asks/{ask}/deny': {
    post: operation('walletAskDeny', 'This payment is not made.', OPEN, {
      description: 'Also after a yes, until the payment is charged. A body is not looked at.',
      parameters: [ASK],
      answer: jsonAnswer('It is in the journal.', 'WalletDenied'),
      more: { ...NOT_FOUND, ...CONFLICT },
    }),
  },
};
