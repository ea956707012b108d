import { ApiExtraModels, ApiProperty, ApiPropertyOptional, getSchemaPath } from '@nestjs/swagger';
import type { Address } from 'viem';
import { moment, text } from '../../../platform/http/openapi.js';
import { ATOMIC_UNITS_SCHEMA } from '../../../protocol/payment/wire-schemas.js';

/** Numbers that may be large are decimal text. */
export class WindowStats {
  @ApiProperty(ATOMIC_UNITS_SCHEMA)
  readonly payments!: string;

  @ApiProperty({ ...ATOMIC_UNITS_SCHEMA, description: 'Atomic units.' })
  readonly amount!: string;

  @ApiPropertyOptional({
    ...text,
    pattern: '^[0-9]+([.][0-9]+)?$',
    description: 'Whole tokens; absent if the decimals of the token are not known.',
  })
  readonly tokens?: string;

  @ApiProperty({ ...ATOMIC_UNITS_SCHEMA, description: 'Different accounts.' })
  readonly payers!: string;

  @ApiProperty({ ...ATOMIC_UNITS_SCHEMA, description: 'Different accounts.' })
  readonly payees!: string;
}

class StatsWindows {
  @ApiProperty()
  readonly '24h'!: WindowStats;

  @ApiProperty()
  readonly '7d'!: WindowStats;

  @ApiProperty()
  readonly '30d'!: WindowStats;

  @ApiProperty()
  readonly all!: WindowStats;
}

export class AssetStats {
  @ApiPropertyOptional(text)
  readonly symbol?: string;

  @ApiPropertyOptional({ type: 'integer', minimum: 0, maximum: 77 })
  readonly decimals?: number;

  /** `txCount` and `totalAmount` keep the names of the original service. */
  @ApiProperty({ type: 'integer', description: 'Number of payments of all time.' })
  readonly txCount!: number;

  @ApiProperty({ ...ATOMIC_UNITS_SCHEMA, description: 'Amount of all time, in atomic units.' })
  readonly totalAmount!: string;

  @ApiProperty({ type: StatsWindows })
  readonly windows!: Readonly<Record<string, WindowStats>>;
}

@ApiExtraModels(AssetStats)
export class Stats {
  @ApiProperty(moment)
  readonly asOf!: string;

  @ApiProperty({
    type: 'object',
    description: 'By network (CAIP-2), then by address of the asset (lower case).',
    additionalProperties: {
      type: 'object',
      additionalProperties: { $ref: getSchemaPath(AssetStats) },
    },
  })
  readonly networks!: Readonly<Record<string, Readonly<Record<Address, AssetStats>>>>;
}
