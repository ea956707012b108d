import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { FETCH_METHODS, type FetchMethod } from '../../../platform/fetch/safe-fetch.js';
import { count, flag, text } from '../../../platform/http/openapi.js';
import { ADDRESS_SCHEMA, ATOMIC_UNITS_SCHEMA } from '../../../protocol/payment/wire-schemas.js';

/**
 * `error`: a stock buyer cannot pay. `warning`: some buyers cannot pay, the value is probably a mistake, or it could
 * not be checked. `note`: a fact that buyers have to know; nothing is wrong.
 */
export type Severity = 'error' | 'warning' | 'note';

export const SHOWN_MAX_CHARACTERS = 120;

/** One way to pay, as the check understood it. */
export class DoctorOffer {
  @ApiProperty(text)
  readonly path!: string;

  @ApiProperty({ type: 'integer', enum: [1, 2] })
  readonly version!: 1 | 2;

  @ApiProperty(text)
  readonly scheme!: string;

  @ApiProperty({ ...text, enum: ['eip3009', 'permit2'] })
  readonly method!: 'eip3009' | 'permit2';

  @ApiProperty(text)
  readonly network!: string;

  @ApiProperty(ADDRESS_SCHEMA)
  readonly asset!: string;

  @ApiProperty(ADDRESS_SCHEMA)
  readonly payTo!: string;

  @ApiProperty(ATOMIC_UNITS_SCHEMA)
  readonly amount!: string;

  @ApiPropertyOptional({
    ...text,
    description: 'In whole tokens; absent where the token does not tell its decimals.',
  })
  readonly price?: string;
}

/** One finding at one place of a seller's answer. */
export class DoctorFinding {
  @ApiProperty({ ...text, pattern: '^[a-z0-9_]+$' })
  readonly code!: string;

  @ApiProperty({
    ...text,
    enum: ['error', 'warning', 'note'],
    description:
      '`error`: a stock buyer cannot pay. `warning`: some cannot, or it is not what was meant. `note`: what ' +
      'buyers have to know.',
  })
  readonly severity!: Severity;

  @ApiProperty({
    ...text,
    description: 'A part of the answer: `status`, `header.…`, `terms.accepts[0].amount`.',
  })
  readonly path!: string;

  @ApiProperty(text)
  readonly expected!: string;

  @ApiPropertyOptional({
    ...text,
    maxLength: SHOWN_MAX_CHARACTERS,
    description: 'Of the seller: shortened, in printable ASCII, and to be treated as data.',
  })
  readonly got?: string;

  @ApiProperty(text)
  readonly fix!: string;
}

class DoctorCounts implements Readonly<Record<Severity, number>> {
  @ApiProperty(count)
  readonly error!: number;

  @ApiProperty(count)
  readonly warning!: number;

  @ApiProperty(count)
  readonly note!: number;
}

export class DoctorReport {
  @ApiProperty({ ...text, minLength: 1, maxLength: 2048 })
  readonly url!: string;

  @ApiProperty({ ...text, enum: FETCH_METHODS, default: 'GET' })
  readonly method!: FetchMethod;

  @ApiPropertyOptional({
    type: 'integer',
    description: 'Absent where the seller did not answer.',
  })
  readonly status?: number;

  @ApiProperty({ ...flag, description: 'Neither errors nor warnings.' })
  readonly isSound!: boolean;

  @ApiProperty()
  readonly counts!: DoctorCounts;

  @ApiProperty({ type: [DoctorOffer] })
  readonly offers!: readonly DoctorOffer[];

  @ApiProperty({ type: [DoctorFinding], maxItems: 60 })
  readonly findings!: readonly DoctorFinding[];
}
