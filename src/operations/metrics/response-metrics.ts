import { Counter, type Registry } from 'prom-client';
import { isFault, type ResponseObserver } from '../../platform/observability/response-observer.js';
import type { CountError } from './error-metrics.js';

/** Counts answers by route pattern, never by path: anybody can ask for any path. */
export function responseMetrics(registry: Registry, countError: CountError): ResponseObserver {
  const responses = new Counter({
    name: 'x402_http_responses_total',
    help: 'HTTP requests by route and status; closed: the client left before the answer.',
    labelNames: ['route', 'status'],
    registers: [registry],
  });
  return {
    responded: (route = 'unmatched', status) => {
      responses.inc({ route, status: status === undefined ? 'closed' : String(status) });
      if (status !== undefined && isFault(status)) countError('http');
    },
  };
}
