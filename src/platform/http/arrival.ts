import type { IncomingMessage } from 'node:http';
import type { Middleware } from './middleware.js';

const ARRIVED_AT = Symbol('arrivedAt');

interface TimedRequest extends IncomingMessage {
  [ARRIVED_AT]?: number;
}

/** Stores the time at which a request began to arrive, unless it is stored already. */
export function markArrival(request: TimedRequest): void {
  request[ARRIVED_AT] = arrivalOf(request);
}

export const noteArrival: Middleware = (request, _response, next) => {
  markArrival(request);
  next();
};

/** Milliseconds since the epoch. */
export function arrivalOf(request: IncomingMessage): number {
  return (request as TimedRequest)[ARRIVED_AT] ?? Date.now();
}
