import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { flag, text } from '../../../platform/http/openapi.js';

export const ID = { ...text, minLength: 1, maxLength: 128 } as const;
export const SECONDS = { type: 'integer', description: 'Unix seconds.' } as const;
export const LAST_USED = { type: 'integer', description: 'Unix seconds, to the minute.' } as const;

class ListedToken {
  @ApiProperty(ID)
  readonly id!: string;

  @ApiProperty({ ...text, enum: ['owner', 'agent'] })
  readonly role!: 'owner' | 'agent';

  @ApiProperty({ ...text, description: 'How its owner was shown to be the owner.' })
  readonly by!: string;

  @ApiProperty(SECONDS)
  readonly createdAt!: number;

  @ApiProperty(SECONDS)
  readonly expiresAt!: number;

  @ApiProperty({ ...flag, description: 'Whether it is the one that asks.' })
  readonly isThis!: boolean;

  @ApiPropertyOptional({ ...text, description: 'The user code the owner compared.' })
  readonly code?: string | undefined;

  @ApiPropertyOptional(LAST_USED)
  readonly lastUsedAt?: number;
}

export class WalletTokens {
  @ApiProperty({ type: [ListedToken] })
  readonly tokens!: readonly ListedToken[];
}
