import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import {
  BadRequestException,
  HttpException,
  HttpStatus,
  Inject,
  Injectable,
  PayloadTooLargeException,
  RequestTimeoutException,
  UnsupportedMediaTypeException,
} from '@nestjs/common';
import { isLightJson } from '../../protocol/payment/json-bounds.js';
import { Semaphore, TooBusyError } from '../concurrency/semaphore.js';
import { AppConfig } from '../config/app-config.js';
import { BodyShare, FREE_BODY_BYTES, LONG_BODIES } from './byte-budget.js';
import { whenOver } from './response-end.js';

/**
 * Milliseconds a body may take to arrive, as a guard against slow senders (slowloris). The largest
 * body takes a tenth of it on a slow line.
 */
export const BODY_TIMEOUT_MS = 10_000;

const CROWD_RETRY_SECONDS = 1;

/** By the name of an encoding. */
const INFLATERS: Readonly<Record<string, () => Transform>> = {
  gzip: createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
};
/**
 * Bodies that are inflated at once; others wait. A brotli body of 1 KB can declare up to 256 tables of each of three kinds,
 * of about 4 KiB each, so eight take 24 MiB.
 */
const INFLATIONS = new Semaphore(8, 1000);
/** The highest inflation of a compressed body, as a multiple of its size, beyond {@link FREE_BODY_BYTES}. */
const INFLATED_TIMES_MAX = 32;

/** Reads JSON bodies. Guards run earlier, so no body is read of a refused caller. */
@Injectable()
export class JsonBodyReader {
  readonly #maxBytes: number;

  constructor(@Inject(AppConfig) { bodyMaxBytes }: Pick<AppConfig, 'bodyMaxBytes'>) {
    this.#maxBytes = bodyMaxBytes;
  }

  /** @throws HttpException if the body is not JSON, too large, or does not arrive in time. */
  async json(request: IncomingMessage, response: ServerResponse): Promise<unknown> {
    const body = await this.#arrive(request, response);
    if (body.length === 0) {
      throw new BadRequestException('The body is empty; a JSON object is expected.');
    }
    if (!isLightJson(body)) {
      throw new BadRequestException(
        'The body is nested too deep, or has too many objects, lists and fields.',
      );
    }
    try {
      return JSON.parse(body.toString('utf8')) as unknown;
    } catch {
      throw new BadRequestException('The body is not JSON.');
    }
  }

  #arrive(request: IncomingMessage, response: ServerResponse): Promise<Buffer> {
    const makeInflater = inflaterFor(request);
    if (Number(request.headers['content-length'] ?? 0) > this.#maxBytes) {
      throw new PayloadTooLargeException();
    }
    const arrived = new ArrivingBody(request, response, this.#maxBytes).whole();
    return makeInflater === undefined
      ? arrived
      : arrived.then((body) => inflated(body, makeInflater, response, this.#maxBytes));
  }
}

/** One arriving body. It ends once: complete, refused, or with its connection. */
class ArrivingBody {
  readonly #timer: NodeJS.Timeout;
  readonly #outcome: Promise<Buffer>;
  readonly #chunks: Buffer[] = [];
  #resolve: (body: Buffer) => void = () => undefined;
  #reject: (error: HttpException) => void = () => undefined;
  #isEnded = false;
  #size = 0;

  constructor(
    private readonly request: IncomingMessage,
    private readonly response: ServerResponse,
    private readonly maxBytes: number,
  ) {
    this.#outcome = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.#timer = setTimeout(() => {
      this.#leave(new RequestTimeoutException('The body did not arrive in time.'));
    }, BODY_TIMEOUT_MS);
    request.on('error', () => {
      this.#refuse(cutOff());
    });
  }

  /** As it came. */
  whole(): Promise<Buffer> {
    const share = new BodyShare(LONG_BODIES);
    whenOver(this.response, () => {
      // Nearly every body has ended by now, and an exception with its stack is not cheap.
      if (!this.#isEnded) this.#refuse(cutOff());
      share.release();
    });
    this.request
      .on('data', (chunk: Buffer) => {
        this.#take(chunk, share);
      })
      .on('end', () => {
        this.#end();
      });
    return this.#outcome;
  }

  #take(chunk: Buffer, share: BodyShare): void {
    if (this.#isEnded) return;
    this.#size += chunk.length;
    if (this.#size > this.maxBytes) this.#refuse(new PayloadTooLargeException());
    else if (share.add(chunk.length)) this.#chunks.push(chunk);
    else {
      this.#leave(tooMany(this.response));
      this.request.pause();
    }
  }

  #end(): void {
    if (this.#isEnded) return;
    this.#stop();
    this.#resolve(joined(this.#chunks));
  }

  #refuse(error: HttpException): void {
    if (this.#isEnded) return;
    this.#stop();
    this.#chunks.length = 0;
    this.#reject(error);
  }

  /** Bytes that still arrive are dropped. */
  #leave(error: HttpException): void {
    if (!this.response.headersSent) this.response.setHeader('Connection', 'close');
    this.#refuse(error);
  }

  #stop(): void {
    this.#isEnded = true;
    clearTimeout(this.#timer);
  }
}

/**
 * A body that has arrived, inflated. One that stalls holds nothing of this. All of the result counts, because its client has
 * hardly sent anything for it.
 */
async function inflated(
  packed: Buffer,
  makeInflater: () => Transform,
  response: ServerResponse,
  maxBytes: number,
): Promise<Buffer> {
  const share = new BodyShare(LONG_BODIES, 0);
  whenOver(response, () => {
    share.release();
  });
  const most = FREE_BODY_BYTES + packed.length * INFLATED_TIMES_MAX;
  const inflate = async (): Promise<Buffer> => {
    const inflater = makeInflater();
    const pieces: Buffer[] = [];
    let size = 0;
    inflater.end(packed);
    // Leaving the loop ends the inflater.
    for await (const piece of inflater as AsyncIterable<Buffer>) {
      size += piece.length;
      if (size > most) throw inflatesTooMuch();
      if (size > maxBytes) throw new PayloadTooLargeException();
      if (!share.add(piece.length)) throw tooMany(response);
      pieces.push(piece);
    }
    return joined(pieces);
  };
  try {
    return await INFLATIONS.run(inflate);
  } catch (error) {
    if (error instanceof HttpException) throw error;
    if (error instanceof TooBusyError) throw tooMany(response);
    throw new BadRequestException('The body does not match its Content-Encoding.');
  }
}

function joined(pieces: readonly Buffer[]): Buffer {
  const [only] = pieces;
  return pieces.length === 1 && only !== undefined ? only : Buffer.concat(pieces);
}

function tooMany(response: ServerResponse): HttpException {
  if (!response.headersSent) response.setHeader('Retry-After', CROWD_RETRY_SECONDS);
  return new HttpException(
    'Too many large request bodies at once. Try again.',
    HttpStatus.TOO_MANY_REQUESTS,
  );
}

function cutOff(): BadRequestException {
  return new BadRequestException('The body ended before it was complete.');
}

function inflatesTooMuch(): BadRequestException {
  return new BadRequestException(
    `The decompressed body is more than ${INFLATED_TIMES_MAX} times as large as the compressed body.`,
  );
}

/** @throws UnsupportedMediaTypeException */
function inflaterFor({ headers }: IncomingMessage): (() => Transform) | undefined {
  const encoding = headers['content-encoding']?.toLowerCase() ?? 'identity';
  if (encoding === 'identity') return undefined;
  const makeInflater = Object.hasOwn(INFLATERS, encoding) ? INFLATERS[encoding] : undefined;
  if (makeInflater === undefined) throw new UnsupportedMediaTypeException();
  return makeInflater;
}
