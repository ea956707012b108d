import { type JsonObject, object, text } from '../../platform/http/openapi.js';
import { ADDRESS_SCHEMA } from '../../protocol/payment/wire-schemas.js';

/** What routes of passkeys answer. */
export const PASSKEY_SCHEMAS: Readonly<Record<string, JsonObject>> = {
  WalletPasskeysState: object({ isOn: { type: 'boolean' } }),
  WalletPasskeyOwner: object({ owner: ADDRESS_SCHEMA }),
  WalletPasskeyOptions: {
    ...object({ challenge: text, rp: { type: 'object', additionalProperties: true } }),
    additionalProperties: true,
  },
};
