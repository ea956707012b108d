import { Controller, Get } from '@nestjs/common';
import { HealthCheck, type HealthCheckResult } from '@nestjs/terminus';
import { HealthService } from './health.service.js';

@Controller()
export class HealthController {
  constructor(private readonly health: HealthService) {}

  @Get(['health', 'v1/health', 'v2/health'])
  @HealthCheck()
  deployment(): Promise<HealthCheckResult> {
    return this.health.deployment();
  }

  @Get('health/ready')
  @HealthCheck()
  ready(): Promise<HealthCheckResult> {
    return this.health.ready();
  }

  /** That this is answered is the answer. */
  @Get('health/live')
  live(): { readonly status: 'ok' } {
    return { status: 'ok' };
  }
}
