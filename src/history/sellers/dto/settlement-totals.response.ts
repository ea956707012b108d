import { ApiProperty, ApiPropertyOptional, ApiSchema } from '@nestjs/swagger';
import type { Address } from 'viem';
import { CLOSED, text } from '../../../platform/http/openapi.js';
import {
  ADDRESS_SCHEMA,
  ATOMIC_UNITS_SCHEMA,
  CAIP2_SCHEMA,
} from '../../../protocol/payment/wire-schemas.js';

class PaidSum {
  @ApiProperty(ATOMIC_UNITS_SCHEMA)
  readonly count!: string;

  @ApiProperty({ ...text, pattern: '^[0-9]+$', description: 'Atomic units.' })
  readonly amount!: string;
}

/** The sum of one group. Amounts of two assets are never added. */
@ApiSchema(CLOSED)
export class SettlementTotal {
  @ApiPropertyOptional({ ...text, format: 'date', description: 'Day of the claim, in UTC.' })
  readonly day?: string;

  @ApiProperty(CAIP2_SCHEMA)
  readonly network!: string;

  @ApiProperty(ADDRESS_SCHEMA)
  readonly asset!: Address;

  @ApiPropertyOptional(ADDRESS_SCHEMA)
  readonly payTo?: Address;

  @ApiProperty({ description: 'Payments that reached the payees.' })
  readonly paid!: PaidSum;

  @ApiProperty({
    type: 'object',
    additionalProperties: ATOMIC_UNITS_SCHEMA,
    description: 'Number of settlements in each state.',
  })
  readonly states!: Readonly<Record<string, string>>;
}

@ApiSchema(CLOSED)
export class SettlementTotals {
  @ApiProperty({ type: [String] })
  readonly groupBy!: readonly string[];

  @ApiProperty({ type: [SettlementTotal] })
  readonly totals!: readonly SettlementTotal[];
}
