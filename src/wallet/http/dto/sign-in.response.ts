import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { text } from '../../../platform/http/openapi.js';
import type { SignInMessage } from '../../auth/sign-in.js';

export class WalletCode {
  @ApiProperty({ ...text, description: 'The secret of the agent.' })
  readonly code!: string;

  @ApiProperty(text)
  readonly user_code!: string;

  @ApiProperty(text)
  readonly auth_url!: string;

  @ApiProperty(text)
  readonly authUrl!: string;
}

export class WalletStatus {
  @ApiProperty({ ...text, enum: ['pending', 'completed'] })
  readonly status!: 'pending' | 'completed';

  @ApiPropertyOptional(text)
  readonly token?: string;
}

export class WalletChallenge implements SignInMessage {
  @ApiProperty(text)
  readonly nonce!: string;

  @ApiProperty({ ...text, description: 'EIP-4361.' })
  readonly message!: string;

  @ApiProperty({ type: 'integer', description: 'Unix seconds.' })
  readonly expiresAt!: number;
}

export class WalletApprovalChallenge extends WalletChallenge {
  @ApiProperty({ ...text, description: 'The rules in words.' })
  readonly rules!: string;
}

export class WalletToken {
  @ApiProperty(text)
  readonly token!: string;
}

export class WalletApproved {
  @ApiProperty({ ...text, const: 'approved' } as object)
  readonly status!: 'approved';
}

export class WalletDenied {
  @ApiProperty({ ...text, const: 'denied' } as object)
  readonly status!: 'denied';
}

export class WalletRevoked {
  @ApiProperty({ ...text, const: 'revoked' } as object)
  readonly status!: 'revoked';
}
