import {
  jsonAnswer,
  type JsonObject,
  OPEN,
  type OpenApiPart,
} from '../../platform/http/openapi.js';
import { ADDRESS_SCHEMA } from '../../protocol/payment/wire-schemas.js';
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

const CLOSED = { additionalProperties: false };
const ADDRESS = '0x90F79bf6EB2c4f870365E785982E1f101E93b906';

export const BASE64URL = { ...text, pattern: '^[\\w-]+$' };
const ASSERTION = object(
  {
    id: BASE64URL,
    authenticatorData: BASE64URL,
    clientDataJSON: BASE64URL,
    signature: BASE64URL,
  },
  { ...CLOSED, description: 'Of a passkey (WebAuthn), whose challenge is SHA-256 of the message.' },
);

export const SIGNED = {
  address: ADDRESS_SCHEMA,
  message: { ...text, minLength: 1, maxLength: 4096 },
  signature: {
    ...text,
    pattern: '^0x([0-9a-fA-F]{2})*$',
    maxLength: 16_386,
    description: 'EIP-191, 65 bytes. Of a contract whatever it takes (ERC-1271, ERC-6492).',
  },
};
/** What an owner sends who has signed: by a key or a contract, or by a passkey. */
export const signedBody = (more: Readonly<Record<string, JsonObject>> = {}): JsonObject => ({
  ...object({ ...more, address: SIGNED.address, message: SIGNED.message }, CLOSED),
  properties: { ...more, ...SIGNED, assertion: ASSERTION },
  anyOf: [{ required: ['signature'] }, { required: ['assertion'] }],
  description: 'With `signature`, or with `assertion`.',
});
const USER_CODE = { ...text, minLength: 1, maxLength: 64, description: 'As the link names it.' };
export const DEVICE_CODE = {
  ...text,
  minLength: 1,
  maxLength: 128,
  description: 'The agent’s secret.',
};

/** How owners sign in and agents are let in. */
export const SIGN_IN_PATHS: OpenApiPart['paths'] = {
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
      body: json(signedBody()),
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
      body: json(signedBody({ code: USER_CODE })),
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
