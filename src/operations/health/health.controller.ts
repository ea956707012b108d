import type { IncomingMessage } from 'node:http';
import { Controller, Get, Req, ServiceUnavailableException } from '@nestjs/common';
import { HealthCheck, type HealthCheckResult, type HealthIndicatorResult } from '@nestjs/terminus';
import { isOps } from '../../platform/http/ops.js';
import { HealthService } from './health.service.js';

@Controller()
export class HealthController {
  constructor(private readonly health: HealthService) {}

  @Get(['health', 'v1/health', 'v2/health'])
  @HealthCheck()
  deployment(@Req() request: IncomingMessage): Promise<HealthCheckResult> {
    return publicReport(request, this.health.deployment());
  }

  @Get('health/ready')
  @HealthCheck()
  ready(@Req() request: IncomingMessage): Promise<HealthCheckResult> {
    return publicReport(request, this.health.ready());
  }

  /** That this is answered is the answer. */
  @Get('health/live')
  live(): { readonly status: 'ok' } {
    return { status: 'ok' };
  }
}

/**
 * The public port shows only what is up and what is down; addresses, balances and delays are for
 * operators.
 */
async function publicReport(
  request: IncomingMessage,
  report: Promise<HealthCheckResult>,
): Promise<HealthCheckResult> {
  if (isOps(request)) return report;
  try {
    return brief(await report);
  } catch (error) {
    if (!(error instanceof ServiceUnavailableException)) throw error;
    throw new ServiceUnavailableException(brief(error.getResponse() as HealthCheckResult));
  }
}

function brief({ status, info, error, details }: HealthCheckResult): HealthCheckResult {
  return {
    status,
    info: statusesOf(info),
    error: statusesOf(error),
    details: statusesOf(details),
  };
}

function statusesOf(results: Partial<HealthIndicatorResult> = {}): HealthIndicatorResult {
  return Object.fromEntries(
    Object.entries(results).flatMap(([name, result]) =>
      result === undefined ? [] : [[name, { status: result.status }]],
    ),
  );
}
