import { object, type OpenApiPart, text } from '../../platform/http/openapi.js';

/** The OAuth routes of this service; the rest is as RFC 6749, 7009, 7591, 8414 and 9728 describe it. */
export const WALLET_OAUTH_OPENAPI: OpenApiPart = {
  tags: [],
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
