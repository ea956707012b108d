import { type Json, jsonAnswer, OPEN, type OpenApiPart } from '../../platform/http/openapi.js';
import { ADDRESS_SCHEMA } from '../../protocol/payment/wire-schemas.js';
import {
  CONFLICT,
  FORBIDDEN,
  json,
  NOT_FOUND,
  object,
  operation,
  text,
  WITH_TOKEN,
} from './operations.js';
import { signedBody } from './sign-in.openapi.js';

const CLOSED = { additionalProperties: false };
const UID: Json = [
  { name: 'uid', in: 'path', required: true, schema: { ...text, maxLength: 128 } },
];
const COOKIE = 'With the cookie of the browser that the client sent here; 404 without.';

/** What of OAuth is this service's own; the rest is as RFC 6749, 7009, 7591, 8414 and 9728 describe it. */
export const WALLET_OAUTH_OPENAPI: OpenApiPart = {
  tags: [],
  paths: {
    '/oauth/consent/{uid}/request': {
      get: operation('walletConsentRequest', 'What a client asks the owner for.', OPEN, {
        description: COOKIE,
        parameters: UID,
        answer: jsonAnswer('As the page shows it.', 'WalletConsentRequest'),
        more: { ...NOT_FOUND, ...CONFLICT },
      }),
    },
    '/oauth/consent/{uid}/nonce': {
      post: operation('walletConsentNonce', 'The message that lets the client in.', OPEN, {
        description: COOKIE,
        parameters: UID,
        body: json(object({ address: ADDRESS_SCHEMA }, CLOSED)),
        answer: jsonAnswer('It names client, host, scopes and rules.', 'WalletApprovalChallenge'),
        more: { ...NOT_FOUND, ...CONFLICT },
      }),
    },
    '/oauth/consent/{uid}/approve': {
      post: operation('walletConsentApprove', 'The owner lets the client in.', OPEN, {
        description: COOKIE,
        parameters: UID,
        body: json(signedBody()),
        answer: jsonAnswer('Where the browser goes on to.', 'WalletConsentAnswer'),
        more: { 401: WITH_TOKEN['401'] ?? {}, ...FORBIDDEN, ...NOT_FOUND, ...CONFLICT },
      }),
    },
    '/oauth/consent/{uid}/deny': {
      post: operation('walletConsentDeny', 'The owner does not let the client in.', OPEN, {
        description: COOKIE,
        parameters: UID,
        answer: jsonAnswer('Where the browser goes on to.', 'WalletConsentAnswer'),
        more: { ...NOT_FOUND, ...CONFLICT },
      }),
    },
  },
  schemas: {
    WalletConsentRequest: object({
      client: {
        ...object({ id: text, name: text }),
        properties: { id: text, name: text, site: text },
      },
      host: text,
      scopes: { type: 'array', items: object({ name: text, means: text }) },
      expiresAt: { type: 'integer', description: 'Unix seconds.' },
    }),
    WalletConsentAnswer: object({ location: text }),
  },
};
