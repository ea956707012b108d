import { ApiProperty, ApiPropertyOptional, ApiSchema } from '@nestjs/swagger';
import { CLOSED, flag, free, schemaRef, text } from '../../platform/http/openapi.js';
import { ADDRESS_SCHEMA } from '../../protocol/payment/wire-schemas.js';
import type { JsonObject } from '../../protocol/payment/wire-values.js';
import type { Reason } from '../../protocol/reasons.js';
import { PAYER_OR_EMPTY } from '../openapi/values.js';
import { RefusalExtensions } from './refusal.response.js';

/** A refusal has a reason; a valid payment has a payer. */
const CONDITIONS: object = {
  dependentRequired: { invalidReason: ['invalidMessage', 'extensions'] },
  if: { properties: { isValid: { const: false } } },
  then: { required: ['invalidReason', 'invalidMessage', 'extensions'] },
  else: { required: ['payer'], properties: { payer: ADDRESS_SCHEMA } },
};

/** The body of a verify answer (x402 V2 specification §5.4.2). */
@ApiSchema({ name: 'VerifyAnswer', ...CLOSED, ...CONDITIONS })
export class VerifyBody {
  @ApiProperty(flag)
  readonly isValid!: boolean;

  @ApiPropertyOptional(schemaRef('Reason'))
  readonly invalidReason?: Reason;

  @ApiPropertyOptional(text)
  readonly invalidMessage?: string;

  @ApiPropertyOptional(PAYER_OR_EMPTY)
  readonly payer?: string;

  @ApiPropertyOptional({ ...free, description: 'What the scheme says of a good payment.' })
  readonly extra?: JsonObject;

  @ApiPropertyOptional()
  readonly extensions?: RefusalExtensions;
}
