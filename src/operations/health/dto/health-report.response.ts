import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import type { HealthCheckResult } from '@nestjs/terminus';
import { object, text } from '../../../platform/http/openapi.js';

const INDICATORS = {
  type: 'object',
  additionalProperties: object({ status: text }, {}, { additionalProperties: true }),
} as const;

/** As Terminus writes it. */
export class HealthReport {
  @ApiProperty({ ...text, enum: ['ok', 'error', 'shutting_down'] })
  readonly status!: HealthCheckResult['status'];

  @ApiPropertyOptional(INDICATORS)
  readonly info?: HealthCheckResult['info'];

  @ApiPropertyOptional(INDICATORS)
  readonly error?: HealthCheckResult['error'];

  @ApiProperty(INDICATORS)
  readonly details!: HealthCheckResult['details'];
}

export class Alive {
  @ApiProperty({ ...text, enum: ['ok'] })
  readonly status!: 'ok';
}
