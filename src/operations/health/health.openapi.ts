import {
  jsonAnswer,
  type JsonObject,
  OPEN,
  type OpenApiPart,
} from '../../platform/http/openapi.js';

const HEALTHY = { status: 'ok', info: {}, error: {}, details: { redis: { status: 'up' } } };
const ILL = {
  status: 'error',
  info: {},
  error: { redis: { status: 'down', code: 'redis_unreachable' } },
  details: { redis: { status: 'down', code: 'redis_unreachable' } },
};

function report(operationId: string, summary: string): JsonObject {
  return {
    get: {
      operationId,
      tags: ['Health'],
      summary,
      security: OPEN,
      responses: {
        200: jsonAnswer('Yes.', 'HealthReport', HEALTHY),
        503: jsonAnswer('No; `error` says why.', 'HealthReport', ILL),
      },
    },
  };
}

const DEPLOYMENT = 'Can this deployment settle now?';

export const HEALTH_OPENAPI: OpenApiPart = {
  tags: [{ name: 'Health', description: 'For probes and people. Cheap to ask.' }],
  paths: {
    '/health': report('health', DEPLOYMENT),
    '/v1/health': report('healthV1', DEPLOYMENT),
    '/v2/health': report('healthV2', DEPLOYMENT),
    '/health/ready': report('ready', 'Can this process answer truthfully?'),
    '/health/live': {
      get: {
        operationId: 'live',
        tags: ['Health'],
        summary: 'Is this process alive?',
        security: OPEN,
        responses: {
          200: jsonAnswer('The process is alive.', 'Alive', { status: 'ok' }),
        },
      },
    },
  },
  schemas: {
    HealthReport: {
      type: 'object',
      required: ['status', 'details'],
      properties: {
        status: { type: 'string', enum: ['ok', 'error', 'shutting_down'] },
        info: { $ref: '#/components/schemas/Indicators' },
        error: { $ref: '#/components/schemas/Indicators' },
        details: { $ref: '#/components/schemas/Indicators' },
      },
    },
    Indicators: {
      type: 'object',
      additionalProperties: {
        type: 'object',
        required: ['status'],
        properties: { status: { type: 'string' } },
        additionalProperties: true,
      },
    },
    Alive: {
      type: 'object',
      required: ['status'],
      properties: { status: { type: 'string', const: 'ok' } },
    },
  },
};
