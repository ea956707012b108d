import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { text } from '../../../platform/http/openapi.js';
import type { ConsentRequest } from '../consent.service.js';

class ConsentClient {
  @ApiProperty(text)
  readonly id!: string;

  @ApiProperty(text)
  readonly name!: string;

  @ApiPropertyOptional(text)
  readonly site?: string;
}

class ConsentScope {
  @ApiProperty(text)
  readonly name!: ConsentRequest['scopes'][number]['name'];

  @ApiProperty(text)
  readonly means!: string;
}

export class WalletConsentRequest implements ConsentRequest {
  @ApiProperty()
  readonly client!: ConsentClient;

  @ApiProperty(text)
  readonly host!: string;

  @ApiProperty({ type: [ConsentScope] })
  readonly scopes!: readonly ConsentScope[];

  @ApiProperty({ type: 'integer', description: 'Unix seconds.' })
  readonly expiresAt!: number;
}

export class WalletConsentAnswer {
  @ApiProperty(text)
  readonly location!: string;
}
