import { Injectable } from '@nestjs/common';
import { Counter, Registry } from 'prom-client';

/** Places of unexpected errors. `queue` is the connection of BullMQ to Redis. */
const PLACES = ['http', 'verify', 'settle', 'lane', 'queue'] as const;

/** Counts unexpected errors; starts at 0, so that the first one shows as an increase. */
@Injectable()
export class ErrorMetrics {
  readonly #errors: Counter<'place'>;

  constructor(registry: Registry) {
    this.#errors = new Counter({
      name: 'x402_internal_errors_total',
      help: 'Unexpected errors, by the part of the service they occurred in.',
      labelNames: ['place'],
      registers: [registry],
    });
    for (const place of PLACES) this.#errors.inc({ place }, 0);
  }

  count(place: (typeof PLACES)[number]): void {
    this.#errors.inc({ place });
  }
}
