import { jsonAnswer, type JsonObject, type OpenApiPart } from '../../platform/http/openapi.js';
import { FORBIDDEN, NOT_FOUND, object, operation, text, TOKEN } from './operations.js';

const ID = { ...text, minLength: 1, maxLength: 128 };
const SECONDS = { type: 'integer', description: 'Unix seconds.' };
const LAST_USED = { type: 'integer', description: 'Unix seconds, to the minute.' };
const NAMED = [{ name: 'id', in: 'path', required: true, schema: ID }];

/** What is always there, and what is there where it is known. */
function objectWith(
  always: Readonly<Record<string, JsonObject>>,
  known: Readonly<Record<string, JsonObject>>,
): JsonObject {
  return { ...object(always), properties: { ...always, ...known } };
}

/** Whom an owner has let in, and the end of that. */
export const ACCESS_PATHS: OpenApiPart['paths'] = {
  '/v1/wallets/me/tokens': {
    get: operation('walletTokens', 'Which tokens are good for now. For the owner.', TOKEN, {
      answer: jsonAnswer('The newest first; none of OAuth.', 'WalletTokens'),
      more: FORBIDDEN,
    }),
  },
  '/v1/wallets/me/tokens/{id}': {
    delete: operation('walletTokenEnd', 'Ends one token. For the owner.', TOKEN, {
      parameters: NAMED,
      answer: jsonAnswer('It is good for nothing now.', 'WalletRevoked'),
      more: { ...FORBIDDEN, ...NOT_FOUND },
    }),
  },
  '/v1/wallets/me/grants': {
    get: operation('walletGrants', 'Whom the owner let in by OAuth. For the owner.', TOKEN, {
      answer: jsonAnswer('The newest first.', 'WalletGrants'),
      more: FORBIDDEN,
    }),
  },
  '/v1/wallets/me/grants/{id}': {
    delete: operation('walletGrantEnd', 'Ends what one client was given. For the owner.', TOKEN, {
      parameters: NAMED,
      answer: jsonAnswer('Its tokens are good for nothing now.', 'WalletRevoked'),
      more: { ...FORBIDDEN, ...NOT_FOUND },
    }),
  },
};

export const ACCESS_SCHEMAS: Readonly<Record<string, JsonObject>> = {
  WalletTokens: object({
    tokens: {
      type: 'array',
      items: objectWith(
        {
          id: ID,
          role: { ...text, enum: ['owner', 'agent'] },
          by: { ...text, description: 'How its owner was shown to be the owner.' },
          createdAt: SECONDS,
          expiresAt: SECONDS,
          isThis: { type: 'boolean', description: 'Whether it is the one that asks.' },
        },
        {
          code: { ...text, description: 'The user code the owner compared.' },
          lastUsedAt: LAST_USED,
        },
      ),
    },
  }),
  WalletGrants: object({
    grants: {
      type: 'array',
      items: objectWith(
        {
          id: ID,
          client: object({ id: text, name: text }),
          host: text,
          scopes: { type: 'array', items: text },
          createdAt: SECONDS,
          expiresAt: SECONDS,
        },
        { lastUsedAt: LAST_USED },
      ),
    },
  }),
};
