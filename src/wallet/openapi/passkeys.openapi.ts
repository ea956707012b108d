import {
  jsonAnswer,
  type JsonObject,
  OPEN,
  type OpenApiPart,
} from '../../platform/http/openapi.js';
import { ADDRESS_SCHEMA } from '../../protocol/payment/wire-schemas.js';
import { CONFLICT, json, NOT_FOUND, object, operation, WITH_TOKEN } from './operations.js';
import { BASE64URL } from './sign-in.openapi.js';

const CLOSED = { additionalProperties: false };
const REFUSED: JsonObject = { 401: WITH_TOKEN['401'] ?? {} };

/** How somebody without a browser wallet becomes an owner. */
export const PASSKEY_PATHS: OpenApiPart['paths'] = {
  '/v1/passkeys': {
    get: operation('walletPasskeysState', 'Whether owners may have passkeys here.', OPEN, {
      answer: jsonAnswer('For pages.', 'WalletPasskeysState'),
    }),
    post: operation('walletPasskeyAdd', 'A passkey that a browser has made: a new owner.', OPEN, {
      body: json(
        object({ id: BASE64URL, attestationObject: BASE64URL, clientDataJSON: BASE64URL }, CLOSED),
      ),
      answer: jsonAnswer('The owner that it is.', 'WalletPasskeyOwner'),
      more: { ...REFUSED, ...NOT_FOUND, ...CONFLICT },
    }),
  },
  '/v1/passkeys/options': {
    post: operation('walletPasskeyOptions', 'What a browser makes a passkey by.', OPEN, {
      description:
        'As `navigator.credentials.create` takes it, as JSON. Good once, for ten minutes.',
      answer: jsonAnswer('The challenge among them.', 'WalletPasskeyOptions'),
      more: NOT_FOUND,
    }),
  },
  '/v1/passkeys/find': {
    post: operation('walletPasskeyFind', 'Whose a passkey is that a browser has found.', OPEN, {
      body: json(object({ id: BASE64URL }, CLOSED)),
      answer: jsonAnswer('What the owner names when it signs in.', 'WalletPasskeyOwner'),
      more: NOT_FOUND,
    }),
  },
};

export const PASSKEY_SCHEMAS: OpenApiPart['schemas'] = {
  WalletPasskeysState: object({ isOn: { type: 'boolean' } }),
  WalletPasskeyOwner: object({ owner: ADDRESS_SCHEMA }),
  WalletPasskeyOptions: {
    ...object({ challenge: BASE64URL, rp: { type: 'object', additionalProperties: true } }),
    additionalProperties: true,
  },
};
