import type { IncomingMessage } from 'node:http';
import { Controller, Get, Req, ServiceUnavailableException } from '@nestjs/common';
import { HealthCheck, type HealthCheckResult, type HealthIndicatorResult } from '@nestjs/terminus';
import { jsonAnswer } from '../../platform/http/openapi.js';
import { isOps } from '../../platform/http/ops.js';
import { Alive } from './dto/health-report.response.js';
import { Describes, DescribesReport } from './health.openapi.js';
import { HealthService } from './health.service.js';

/** Only the checks on the public port are documented. */
const PLAIN = { noCache: true, swaggerDocumentation: false };

@Controller()
export class HealthController {
  constructor(private readonly health: HealthService) {}

  @Get(['health', 'v1/health', 'v2/health'])
  @DescribesReport('health', 'Can this deployment settle now?')
  @HealthCheck(PLAIN)
  deployment(@Req() request: IncomingMessage): Promise<HealthCheckResult> {
    return publicReport(request, this.health.deployment());
  }

  @Get('health/ready')
  @DescribesReport('ready', 'Can this process answer truthfully?')
  @HealthCheck(PLAIN)
  ready(@Req() request: IncomingMessage): Promise<HealthCheckResult> {
    return publicReport(request, this.health.ready());
  }

  @Get('health/live')
  @Describes('live', 'Is this process alive?', {
    200: jsonAnswer('The process is alive.', Alive, { status: 'ok' }),
  })
  live(): Alive {
    return { status: 'ok' };
  }
}

/** The public port shows only up or down; addresses, balances and delays are for operators. */
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
