import { Injectable } from '@nestjs/common';
import { Counter, Registry } from 'prom-client';
import { isFault, type ResponseObserver } from '../../platform/observability/response-observer.js';
import { ErrorMetrics } from './error-metrics.js';

/** Counts answers by route pattern, not by path, because clients choose paths. */
@Injectable()
export class ResponseMetrics implements ResponseObserver {
  readonly #responses: Counter<'route' | 'status'>;

  constructor(
    registry: Registry,
    private readonly errors: ErrorMetrics,
  ) {
    this.#responses = new Counter({
      name: 'x402_http_responses_total',
      help: 'HTTP requests by route and status; closed: the client left before the answer.',
      labelNames: ['route', 'status'],
      registers: [registry],
    });
  }

  responded(route: string | undefined, status: number | undefined): void {
    this.#responses.inc({
      route: route ?? 'unmatched',
      status: status === undefined ? 'closed' : String(status),
    });
    if (status !== undefined && isFault(status)) this.errors.count('http');
  }
}
