import { ApiProperty, ApiPropertyOptional, ApiSchema } from '@nestjs/swagger';
import { flag, moment, text } from '../../../platform/http/openapi.js';
import type { Support } from '../../../protocol/evm/token/token-facts.js';
import type { TransferMethod } from '../../../protocol/evm/transfer-method.js';
import { ADDRESS_SCHEMA, CAIP2_SCHEMA } from '../../../protocol/payment/wire-schemas.js';

const SUPPORT = { ...text, enum: ['yes', 'no', 'unclear'] };

class Eip3009Support {
  @ApiProperty(SUPPORT)
  readonly vrs!: Support;

  @ApiProperty(SUPPORT)
  readonly bytes!: Support;
}

/** A token as `GET /v2/assets` shows it. */
@ApiSchema({ name: 'Asset' })
export class AssetView {
  @ApiProperty({ ...CAIP2_SCHEMA, description: 'CAIP-2.' })
  readonly network!: string;

  @ApiProperty(ADDRESS_SCHEMA)
  readonly asset!: string;

  @ApiPropertyOptional(text)
  readonly symbol?: string;

  @ApiPropertyOptional({ type: 'integer', minimum: 0, maximum: 77 })
  readonly decimals?: number;

  @ApiPropertyOptional({
    ...flag,
    description: 'Whether a contract exists at the address; absent until the contract was read.',
  })
  readonly isDeployed?: boolean;

  @ApiProperty({
    type: 'array',
    items: { ...text, enum: ['eip3009', 'permit2'] },
    description: 'Transfer methods that this deployment accepts for the token.',
  })
  readonly methods!: readonly TransferMethod[];

  @ApiPropertyOptional({
    type: 'object',
    additionalProperties: text,
    description:
      'The value of `extra` for the scheme `exact`; absent if no working value is known.',
  })
  readonly extra?: Readonly<Record<string, string>>;

  @ApiPropertyOptional({
    description:
      'Overloads of `transferWithAuthorization` found in the contract. Contract wallets need `bytes`.',
  })
  readonly eip3009?: Eip3009Support;

  @ApiPropertyOptional({
    ...SUPPORT,
    description: 'Whether the payer can sign an approval of Permit2.',
  })
  readonly eip2612?: Support;

  @ApiProperty({ ...text, enum: ['chain', 'built-in', 'settings'] })
  readonly source!: 'chain' | 'built-in' | 'settings';

  @ApiPropertyOptional(moment)
  readonly readAt?: string;

  @ApiPropertyOptional({
    ...text,
    description: 'A reported property of the token that no read of the chain has confirmed.',
  })
  readonly doubt?: string;
}

export class Assets {
  @ApiProperty({ type: [AssetView] })
  readonly assets!: readonly AssetView[];
}
