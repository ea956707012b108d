import { ApiProperty, ApiPropertyOptional, ApiSchema } from '@nestjs/swagger';
import { CLOSED, PLACE, text } from '../../platform/http/openapi.js';
import type { Diagnosis } from '../../protocol/diagnosis/diagnosis.js';
import type { Fault, Retry } from '../../protocol/reasons.js';

@ApiSchema({ name: 'Diagnosis', ...CLOSED })
class DiagnosisView implements Diagnosis {
  @ApiPropertyOptional({
    ...text,
    description: 'Where in the body; absent if no field is at fault.',
  })
  readonly path?: string;

  @ApiPropertyOptional(text)
  readonly expected?: string;

  @ApiPropertyOptional({
    ...text,
    description:
      'The value as it came, if it is short and hexadecimal, decimal or a known word; else a description.',
  })
  readonly got?: string;

  @ApiProperty({ ...text, enum: ['buyer', 'seller', 'facilitator', 'chain'] })
  readonly fault!: Fault;

  @ApiProperty({ ...text, enum: ['never', 'same', 'new-payment', 'later'] })
  readonly retry!: Retry;

  @ApiProperty(text)
  readonly docs!: string;

  @ApiPropertyOptional({
    ...text,
    description: 'The transaction of another sender that paid exactly this.',
  })
  readonly transaction?: string;
}

@ApiSchema({ name: 'RefusalExtensions', ...CLOSED })
export class RefusalExtensions {
  @ApiProperty()
  readonly diagnosis!: DiagnosisView;
}

/** A refusal, as the error filters write it. */
@ApiSchema({ name: 'Problem' })
export class ProblemView {
  @ApiProperty(text)
  readonly error!: string;

  @ApiProperty(text)
  readonly code!: string;

  @ApiPropertyOptional(PLACE.path)
  readonly path?: string;

  @ApiPropertyOptional(PLACE.expected)
  readonly expected?: string;

  @ApiPropertyOptional(PLACE.got)
  readonly got?: string;
}
