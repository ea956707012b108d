import { ApiProperty, ApiPropertyOptional, ApiSchema } from '@nestjs/swagger';
import { CLOSED, free, text, withExamples } from '../../platform/http/openapi.js';
import type { ServedKind } from '../../protocol/payment/accepts.js';
import { ADDRESS_SCHEMA } from '../../protocol/payment/wire-schemas.js';
import type { JsonObject } from '../../protocol/payment/wire-values.js';
import { allSchemes } from '../../protocol/schemes/registry.js';
import { SUPPORTED } from '../openapi/examples.js';

@ApiSchema({ name: 'SupportedKind', ...CLOSED })
class KindView implements ServedKind {
  @ApiProperty({ type: 'integer', enum: [1, 2] })
  readonly x402Version!: 1 | 2;

  @ApiProperty({ ...text, enum: allSchemes().map(({ name }) => name) })
  readonly scheme!: string;

  @ApiProperty(text)
  readonly network!: string;

  @ApiPropertyOptional(free)
  readonly extra?: JsonObject;
}

/** The body of `GET /supported` (x402 V2 specification §7.3). */
@ApiSchema({ name: 'Supported', ...CLOSED, ...withExamples(SUPPORTED) })
export class SupportedBody {
  @ApiProperty({ type: [KindView] })
  readonly kinds!: readonly ServedKind[];

  @ApiProperty({ type: 'array', items: text })
  readonly extensions!: readonly string[];

  @ApiProperty({
    type: 'object',
    additionalProperties: { type: 'array', items: ADDRESS_SCHEMA },
  })
  readonly signers!: Readonly<Record<string, readonly string[]>>;
}

/** The answer of `GET /verify` and `GET /settle` without a query; the fields are those of x402-rs. */
class SelfDescriptionBody {
  @ApiProperty(text)
  readonly paymentPayload!: string;

  @ApiProperty(text)
  readonly paymentRequirements!: string;
}

export class SelfDescription {
  @ApiProperty(text)
  readonly endpoint!: string;

  @ApiProperty(text)
  readonly description!: string;

  @ApiProperty()
  readonly body!: SelfDescriptionBody;
}
