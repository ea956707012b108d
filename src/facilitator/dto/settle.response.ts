import { ApiProperty, ApiPropertyOptional, ApiSchema } from '@nestjs/swagger';
import { CLOSED, flag, free, schemaRef, text } from '../../platform/http/openapi.js';
import {
  ADDRESS_SCHEMA,
  ATOMIC_UNITS_SCHEMA,
  SETTLEMENT_ID_SCHEMA,
} from '../../protocol/payment/wire-schemas.js';
import type { Reason } from '../../protocol/reasons.js';
import { HASH, HASH_OR_EMPTY, PAYER_OR_EMPTY } from '../openapi/values.js';
import { RefusalExtensions } from './refusal.response.js';

@ApiSchema({ name: 'SettleAnswerExtra', ...CLOSED })
class SettleExtra {
  @ApiPropertyOptional({
    ...SETTLEMENT_ID_SCHEMA,
    description: 'Absent where an action of a seller was done before.',
  })
  readonly settlementId?: string;

  @ApiPropertyOptional({ type: 'integer', minimum: 0 })
  readonly logIndex?: number;

  @ApiPropertyOptional({ type: 'integer', minimum: 1 })
  readonly batchSize?: number;

  @ApiPropertyOptional({
    ...free,
    description: 'The channel after an action of channels, as the escrow has it.',
  })
  readonly channelState?: object;
}

/**
 * A refusal has a reason, and a success has a payer. A success also has a transaction, except in two cases: its amount
 * is 0, or the action of a seller was done before or by another sender whose transaction was not found. In the last
 * case its amount is unknown.
 */
const CONDITIONS: object = {
  dependentRequired: { errorReason: ['errorMessage', 'extensions'] },
  if: { properties: { success: { const: true } } },
  then: {
    if: {
      properties: { amount: { not: { const: '0' } }, extra: { required: ['settlementId'] } },
      required: ['extra'],
      anyOf: [
        { required: ['amount'] },
        { properties: { extra: { not: { required: ['channelState'] } } } },
      ],
    },
    then: { properties: { transaction: HASH } },
    properties: { payer: ADDRESS_SCHEMA },
    required: ['payer'],
  },
};

/** The body of a settle answer (x402 V2 specification §5.3.2, V1 §5.3); strings are never missing. */
@ApiSchema({ name: 'SettleAnswer', ...CLOSED, ...CONDITIONS })
export class SettleBody {
  @ApiProperty(flag)
  readonly success!: boolean;

  @ApiPropertyOptional(schemaRef('Reason'))
  readonly errorReason?: Reason;

  @ApiPropertyOptional(text)
  readonly errorMessage?: string;

  @ApiPropertyOptional(PAYER_OR_EMPTY)
  readonly payer?: string;

  @ApiProperty(HASH_OR_EMPTY)
  readonly transaction!: string;

  @ApiProperty({ ...text, description: 'In the form the request named it.' })
  readonly network!: string;

  @ApiPropertyOptional({
    ...ATOMIC_UNITS_SCHEMA,
    description: 'The settled amount, in schemes where it may be below the signed one.',
  })
  readonly amount?: string;

  @ApiPropertyOptional()
  readonly extra?: SettleExtra;

  @ApiPropertyOptional()
  readonly extensions?: RefusalExtensions;
}
