import { describing, jsonAnswer, OPEN, type OpenApiPart } from '../../platform/http/openapi.js';
import { HealthReport } from './dto/health-report.response.js';

const HEALTHY = { status: 'ok', info: {}, error: {}, details: { redis: { status: 'up' } } };
const redis = { status: 'down', code: 'redis_unreachable' };
const UNHEALTHY = { status: 'error', info: {}, error: { redis }, details: { redis } };

export const Describes = describing({ tag: 'Health', security: OPEN });

/** The description of a report. */
export const DescribesReport = (operationId: string, summary: string): MethodDecorator =>
  Describes(operationId, summary, {
    200: jsonAnswer('Yes.', HealthReport, HEALTHY),
    503: jsonAnswer('No; `error` says why.', HealthReport, UNHEALTHY),
  });

export const HEALTH_OPENAPI: OpenApiPart = {
  tags: [{ name: 'Health', description: 'For probes and people. Cheap to ask.' }],
};
