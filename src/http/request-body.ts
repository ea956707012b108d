import { BadRequestException } from '@nestjs/common';
import { raw, type Request, type RequestHandler } from 'express';

/** The moment a request began to arrive, noted before its body is read. */
const ARRIVED_AT = Symbol('arrivedAt');

interface TimedRequest extends Request {
  [ARRIVED_AT]?: number;
}

export const noteArrival: RequestHandler = (request: TimedRequest, _response, next) => {
  request[ARRIVED_AT] = Date.now();
  next();
};

/** Milliseconds since the epoch. */
export function arrivalOf(request: Request): number {
  return (request as TimedRequest)[ARRIVED_AT] ?? Date.now();
}

/** Reads a body of any content type: clients that name another one than JSON still send JSON. */
export function readBody(maxBytes: number): RequestHandler {
  return raw({ type: () => true, limit: maxBytes });
}

/** @throws BadRequestException when the body is not JSON. */
export function parseJsonBody(request: Request): unknown {
  const body: unknown = request.body;
  if (!Buffer.isBuffer(body) || body.length === 0) {
    throw new BadRequestException('The body is empty; a JSON object is expected.');
  }
  try {
    return JSON.parse(body.toString('utf8')) as unknown;
  } catch {
    throw new BadRequestException('The body is not JSON.');
  }
}
