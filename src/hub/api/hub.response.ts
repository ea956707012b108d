import { ApiProperty, ApiPropertyOptional, ApiSchema } from '@nestjs/swagger';
import { count, OPEN_ENDED, text } from '../../platform/http/openapi.js';

/** Answers of `/api`, with the names of the original. */

/** Where a payload lies. */
export class HubDescriptor {
  /** `<owner>/<volume>.log`, with the original's names of volumes. */
  @ApiProperty({ ...text, description: 'The volume.' })
  readonly File!: string;

  @ApiProperty({ ...count, description: 'Byte offset of the payload in it.' })
  readonly Start!: number;

  @ApiProperty({ ...count, description: 'Bytes.' })
  readonly Size!: number;
}

export class HubReceived extends HubDescriptor {
  @ApiProperty(text)
  readonly Owner!: string;

  @ApiProperty(text)
  readonly Name!: string;

  @ApiProperty({ ...text, pattern: '^[0-9a-f]{64}$' })
  readonly Sha256!: string;
}

export class HubRemoved {
  @ApiProperty(text)
  readonly Owner!: string;

  @ApiProperty(text)
  readonly Name!: string;
}

export class HubRetention {
  @ApiProperty(text)
  readonly Owner!: string;

  @ApiProperty(count)
  readonly Days!: number;
}

export class HubLinksTakenBack {
  @ApiProperty(text)
  readonly Owner!: string;

  @ApiProperty({ ...text, enum: ['one', 'family', 'all'] })
  readonly Links!: 'one' | 'family' | 'all';

  @ApiPropertyOptional({
    type: 'integer',
    description:
      'Of all: the newest time of issue, Unix seconds, of the links that were taken back.',
  })
  readonly IssuedUntil?: number;
}

@ApiSchema(OPEN_ENDED)
export class HubInfo {
  @ApiProperty({ ...text, const: 'hub' } as object)
  readonly Type!: 'hub';

  @ApiProperty(text)
  readonly Name!: string;
}

/** How a buyer pays in the token of a price. */
export const PRICED_TOKEN = {
  type: 'object',
  description:
    'How the token is paid: `name` and `version` of its EIP-712 domain, or `assetTransferMethod`.',
  additionalProperties: text,
} as const;

export class HubPrice {
  @ApiProperty(text)
  readonly owner!: string;

  @ApiProperty(text)
  readonly file!: string;

  @ApiProperty(text)
  readonly amount!: string;

  @ApiPropertyOptional(text)
  readonly network?: string;

  @ApiPropertyOptional(text)
  readonly asset?: string;

  @ApiPropertyOptional(text)
  readonly payTo?: string;

  @ApiPropertyOptional({ type: 'integer' })
  readonly accessSeconds?: number;

  @ApiPropertyOptional({ type: 'integer' })
  readonly until?: number;

  @ApiPropertyOptional(text)
  readonly contentType?: string;

  @ApiPropertyOptional(text)
  readonly sha256?: string;

  @ApiPropertyOptional({ type: 'integer' })
  readonly size?: number;

  @ApiPropertyOptional(PRICED_TOKEN)
  readonly extra?: Readonly<Record<string, string>>;
}
