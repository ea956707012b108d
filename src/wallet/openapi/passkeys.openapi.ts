import { object, type OpenApiPart, text } from '../../platform/http/openapi.js';
import { ADDRESS_SCHEMA } from '../../protocol/payment/wire-schemas.js';

/** What routes of passkeys answer. */
export const PASSKEY_SCHEMAS: OpenApiPart['schemas'] = {
  WalletPasskeysState: object({ isOn: { type: 'boolean' } }),
  WalletPasskeyOwner: object({ owner: ADDRESS_SCHEMA }),
  WalletPasskeyOptions: {
    ...object({ challenge: text, rp: { type: 'object', additionalProperties: true } }),
    additionalProperties: true,
  },
};
