import type { IncomingMessage, ServerResponse } from 'node:http';
import { BadRequestException, Injectable, RequestTimeoutException } from '@nestjs/common';
import { raw, type Request, type RequestHandler, type Response } from 'express';
import { AppConfig } from '../config/app-config.js';
import type { Step } from './step.js';

/** The moment a request began to arrive, noted before its body is read. */
const ARRIVED_AT = Symbol('arrivedAt');

interface TimedRequest extends IncomingMessage {
  [ARRIVED_AT]?: number;
}

export const noteArrival: Step = (request: TimedRequest, _response, next) => {
  request[ARRIVED_AT] = Date.now();
  next();
};

/** Milliseconds since the epoch. */
export function arrivalOf(request: IncomingMessage): number {
  return (request as TimedRequest)[ARRIVED_AT] ?? Date.now();
}

/**
 * Milliseconds a body may take to arrive. The largest takes a tenth of it on a slow line; who sends it
 * byte by byte to hold a connection is shown out.
 */
const BODY_TIMEOUT_MS = 10_000;

/** Reads x402 bodies. Guards have run by then: nothing is read for who may not ask. */
@Injectable()
export class JsonBodyReader {
  readonly #read: RequestHandler;

  readonly #maxBytes: number;

  constructor({ bodyMaxBytes }: AppConfig) {
    this.#maxBytes = bodyMaxBytes;
    // Of any content type: clients that name another one than JSON still send JSON.
    this.#read = raw({ type: () => true, limit: bodyMaxBytes });
  }

  /** @throws HttpException when the body is not JSON, is too large or does not come. */
  async json(request: IncomingMessage, response: ServerResponse): Promise<unknown> {
    const body = await this.#arrive(request as Request, response as Response);
    if (!Buffer.isBuffer(body) || body.length === 0) {
      throw new BadRequestException('The body is empty; a JSON object is expected.');
    }
    try {
      return JSON.parse(body.toString('utf8')) as unknown;
    } catch {
      throw new BadRequestException('The body is not JSON.');
    }
  }

  #arrive(request: Request, response: Response): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        // What still comes belongs to no request.
        response.setHeader('Connection', 'close');
        reject(new RequestTimeoutException('The body did not arrive in time.'));
      }, BODY_TIMEOUT_MS);
      const done = (error?: unknown, body?: unknown): void => {
        clearTimeout(timer);
        if (error === undefined) resolve(body);
        else reject(error instanceof Error ? error : new Error('unreadable', { cause: error }));
      };
      if (isPlain(request, this.#maxBytes)) readPlain(request, done);
      else {
        void this.#read(request, response, (error?: unknown) => {
          done(error, request.body);
        });
      }
    });
  }
}

/** Of a length that is told and allowed, and as it is: nearly all there are. */
function isPlain({ headers }: IncomingMessage, maxBytes: number): boolean {
  const length = headers['content-length'];
  return (
    length !== undefined &&
    Number(length) <= maxBytes &&
    headers['content-encoding'] === undefined &&
    headers['transfer-encoding'] === undefined
  );
}

/** Node lets through as many bytes as were told, and closes the request when there are fewer. */
function readPlain(request: IncomingMessage, done: (error?: unknown, body?: Buffer) => void): void {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const [first] = chunks;
    done(undefined, chunks.length === 1 && first !== undefined ? first : Buffer.concat(chunks));
  });
  request.on('error', () => {
    done(new BadRequestException('The body was cut off.'));
  });
}
