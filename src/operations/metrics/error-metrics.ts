import { Counter, type Registry } from 'prom-client';

/** Where an unexpected error happened. `queue` is the connection of BullMQ to Redis. */
const PLACES = ['http', 'verify', 'settle', 'lane', 'queue'] as const;

export type CountError = (place: (typeof PLACES)[number]) => void;
export const CountError = Symbol('CountError');

/** Counts what should not happen; from 0, so that the first time is seen as an increase. */
export function errorMetrics(registry: Registry): CountError {
  const errors = new Counter({
    name: 'x402_internal_errors_total',
    help: 'Unexpected errors, by the part of the service they occurred in.',
    labelNames: ['place'],
    registers: [registry],
  });
  for (const place of PLACES) errors.inc({ place }, 0);
  return (place) => {
    errors.inc({ place });
  };
}
