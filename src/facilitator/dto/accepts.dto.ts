import { ApiProperty, ApiPropertyOptional, ApiSchema } from '@nestjs/swagger';
import { CLOSED, free, text, withExamples } from '../../platform/http/openapi.js';
import { REQUIREMENTS_V1, REQUIREMENTS_V2 } from '../openapi/examples.js';

const V2 = {
  x402Version: 2,
  resource: { url: 'https://seller.example/report' },
  accepts: [REQUIREMENTS_V2],
};
const V1 = { x402Version: 1, accepts: [REQUIREMENTS_V1] };

/** Bodies of `POST /accepts`. Its scheme checks each offer separately. */
class AcceptsDto {
  @ApiProperty({ type: 'array', maxItems: 64, items: free })
  readonly accepts!: readonly object[];

  @ApiPropertyOptional(free)
  readonly resource?: object;
}

@ApiSchema({ name: 'AcceptsRoot', ...withExamples(V2, V1) })
export class AcceptsRootDto extends AcceptsDto {
  @ApiProperty({ type: 'integer', enum: [1, 2] })
  readonly x402Version!: 1 | 2;
}

@ApiSchema({ name: 'AcceptsV1', ...withExamples(V1) })
export class AcceptsV1Dto extends AcceptsDto {
  @ApiProperty({ type: 'integer', enum: [1] })
  readonly x402Version!: 1;
}

@ApiSchema({ name: 'AcceptsV2', ...withExamples(V2) })
export class AcceptsV2Dto extends AcceptsDto {
  @ApiProperty({ type: 'integer', enum: [2] })
  readonly x402Version!: 2;
}

@ApiSchema({ name: 'AcceptsAnswer', ...CLOSED })
export class AcceptsAnswer extends AcceptsRootDto {
  @ApiPropertyOptional({ ...text, const: '' } as object)
  readonly error?: '';
}
