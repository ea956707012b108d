import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  BadRequestException,
  HttpException,
  HttpStatus,
  Injectable,
  RequestTimeoutException,
} from '@nestjs/common';
import { raw, type Request, type RequestHandler, type Response } from 'express';
import { AppConfig } from '../config/app-config.js';
import { BodyShare, ByteBudget } from './byte-budget.js';
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

/** Of long bodies at a time, and of what is made of them, until they are answered. */
const LONG_BODIES_BYTES = 67_108_864;

const CROWD_RETRY_SECONDS = 1;

/** Reads x402 bodies. Guards have run by then: nothing is read for who may not ask. */
@Injectable()
export class JsonBodyReader {
  readonly #read: RequestHandler;

  readonly #maxBytes: number;
  readonly #budget: ByteBudget;

  constructor({ bodyMaxBytes }: AppConfig) {
    this.#maxBytes = bodyMaxBytes;
    this.#budget = new ByteBudget(Math.max(LONG_BODIES_BYTES, bodyMaxBytes));
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
    const share = new BodyShare(this.#budget);
    response.on('close', () => {
      share.release();
    });
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        leave(new RequestTimeoutException('The body did not arrive in time.'));
      }, BODY_TIMEOUT_MS);
      const refuse = (error: unknown): void => {
        clearTimeout(timer);
        reject(error instanceof Error ? error : new Error('unreadable', { cause: error }));
      };
      /** What still comes belongs to no request. */
      const leave = (error: HttpException): void => {
        if (!response.headersSent) response.setHeader('Connection', 'close');
        refuse(error);
      };
      const refuseCrowd = (): void => {
        request.pause();
        if (!response.headersSent) response.setHeader('Retry-After', CROWD_RETRY_SECONDS);
        leave(new HttpException('Too many long bodies at once.', HttpStatus.TOO_MANY_REQUESTS));
      };
      const done = (error?: unknown, body?: unknown): void => {
        clearTimeout(timer);
        if (error !== undefined) refuse(error);
        // One that was sent compressed takes what it is without that.
        else if (Buffer.isBuffer(body) && !share.grow(body.length)) refuseCrowd();
        else resolve(body);
      };
      if (isPlain(request, this.#maxBytes)) readPlain(request, done);
      else {
        void this.#read(request, response, (error?: unknown) => {
          done(error, request.body);
        });
      }
      request.on('data', (piece: Buffer) => {
        if (!share.add(piece.length)) refuseCrowd();
      });
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
