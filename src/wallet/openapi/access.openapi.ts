import { ApiParam } from '@nestjs/swagger';
import { flag, type JsonObject, listOf, object, text } from '../../platform/http/openapi.js';

const ID = { ...text, minLength: 1, maxLength: 128 } as const;
const SECONDS = { type: 'integer', description: 'Unix seconds.' };
const LAST_USED = { type: 'integer', description: 'Unix seconds, to the minute.' };

export const HasId = (): MethodDecorator => ApiParam({ name: 'id', schema: ID });

export const ACCESS_SCHEMAS: Readonly<Record<string, JsonObject>> = {
  WalletTokens: object({
    tokens: listOf(
      object(
        {
          id: ID,
          role: { ...text, enum: ['owner', 'agent'] },
          by: { ...text, description: 'How its owner was shown to be the owner.' },
          createdAt: SECONDS,
          expiresAt: SECONDS,
          isThis: { ...flag, description: 'Whether it is the one that asks.' },
        },
        {
          code: { ...text, description: 'The user code the owner compared.' },
          lastUsedAt: LAST_USED,
        },
      ),
    ),
  }),
  WalletGrants: object({
    grants: listOf(
      object(
        {
          id: ID,
          client: object({ id: text, name: text }),
          host: text,
          scopes: listOf(text),
          createdAt: SECONDS,
          expiresAt: SECONDS,
        },
        { lastUsedAt: LAST_USED },
      ),
    ),
  }),
};
