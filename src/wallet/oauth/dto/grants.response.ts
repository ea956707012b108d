import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { text } from '../../../platform/http/openapi.js';
import { ID, LAST_USED, SECONDS } from '../../http/dto/tokens.response.js';

class GrantClient {
  @ApiProperty(text)
  readonly id!: string;

  @ApiProperty(text)
  readonly name!: string;
}

export class ListedGrant {
  @ApiProperty(ID)
  readonly id!: string;

  @ApiProperty()
  readonly client!: GrantClient;

  @ApiProperty(text)
  readonly host!: string;

  @ApiProperty({ type: 'array', items: text })
  readonly scopes!: readonly string[];

  @ApiProperty(SECONDS)
  readonly createdAt!: number;

  @ApiProperty(SECONDS)
  readonly expiresAt!: number;

  @ApiPropertyOptional(LAST_USED)
  readonly lastUsedAt?: number;
}

export class WalletGrants {
  @ApiProperty({ type: [ListedGrant] })
  readonly grants!: readonly ListedGrant[];
}
