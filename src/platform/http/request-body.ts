import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import {
  BadRequestException,
  HttpException,
  HttpStatus,
  Injectable,
  PayloadTooLargeException,
  RequestTimeoutException,
  UnsupportedMediaTypeException,
} from '@nestjs/common';
import { AppConfig } from '../config/app-config.js';
import { BodyShare, FREE_BODY_BYTES, LONG_BODIES } from './byte-budget.js';
import { hasFewBrackets } from './json-brackets.js';
import { whenOver } from './response-end.js';

/**
 * Milliseconds a body may take to arrive, as a guard against slow senders (slowloris). The largest
 * body takes a tenth of it on a slow line.
 */
const BODY_TIMEOUT_MS = 10_000;

const CROWD_RETRY_SECONDS = 1;

/** Nothing that is sent to a facilitator or a wallet comes near them. */
const BRACKETS = { maxDepth: 64, maxCount: 20_000 } as const;
/** Brackets in so few bytes cost less than what every body costs. */
const FEW_BYTES = 16_384;

/** How a compressed body is read: by the name of its encoding. */
const INFLATERS: Readonly<Record<string, () => Transform>> = {
  gzip: createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
};
/** What a decompressor takes for itself. */
const INFLATER_BYTES = 65_536;
/** The highest inflation of a compressed body, as a multiple of its size, beyond {@link FREE_BODY_BYTES}. */
const INFLATED_TIMES_MAX = 32;

/** Reads x402 bodies. Guards have run by then: nothing is read for who may not ask. */
@Injectable()
export class JsonBodyReader {
  readonly #maxBytes: number;

  constructor({ bodyMaxBytes }: AppConfig) {
    this.#maxBytes = bodyMaxBytes;
  }

  /** @throws HttpException when the body is not JSON, is too large or does not come. */
  async json(request: IncomingMessage, response: ServerResponse): Promise<unknown> {
    const body = await this.#arrive(request, response);
    if (body.length === 0) {
      throw new BadRequestException('The body is empty; a JSON object is expected.');
    }
    if (body.length > FEW_BYTES && !hasFewBrackets(body, BRACKETS)) {
      throw new BadRequestException(
        'The body is nested too deep, or has too many objects and lists.',
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
    const body = new ArrivingBody(request, response, this.#maxBytes);
    return makeInflater === undefined ? body.plain() : body.inflated(makeInflater);
  }
}

/** One body on its way in. It ends once: whole, refused, or with its connection. */
class ArrivingBody {
  readonly #timer: NodeJS.Timeout;
  readonly #outcome: Promise<Buffer>;
  readonly #chunks: Buffer[] = [];
  #resolve: (body: Buffer) => void = () => undefined;
  #reject: (error: HttpException) => void = () => undefined;
  #isEnded = false;
  #inflater: Transform | undefined;
  /** Bytes as they came, and as they are kept. */
  #received = 0;
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

  plain(): Promise<Buffer> {
    const share = this.#share(FREE_BODY_BYTES);
    this.request
      .on('data', (chunk: Buffer) => {
        this.#take(chunk, share);
      })
      .on('end', () => {
        this.#end();
      });
    return this.#outcome;
  }

  /** All of it counts: its client has hardly sent anything for it. */
  inflated(makeInflater: () => Transform): Promise<Buffer> {
    const share = this.#share(0);
    if (this.#isEnded) return this.#outcome;
    if (!share.add(INFLATER_BYTES)) {
      this.#refuseCrowd();
      return this.#outcome;
    }
    this.request.on('data', (chunk: Buffer) => {
      this.#received += chunk.length;
    });
    this.#inflater = makeInflater()
      .on('data', (chunk: Buffer) => {
        const isTooMuch =
          this.#size + chunk.length > FREE_BODY_BYTES + this.#received * INFLATED_TIMES_MAX;
        if (isTooMuch) this.#refuse(inflatesTooMuch());
        else this.#take(chunk, share);
      })
      .on('end', () => {
        this.#end();
      })
      .on('error', () => {
        this.#refuse(new BadRequestException('The body does not match its Content-Encoding.'));
      });
    this.request.pipe(this.#inflater);
    return this.#outcome;
  }

  /** A part of the budget, until the request is answered or its connection closed. */
  #share(freeBytes: number): BodyShare {
    const share = new BodyShare(LONG_BODIES, freeBytes);
    whenOver(this.response, () => {
      this.#refuse(cutOff());
      share.release();
    });
    return share;
  }

  #take(chunk: Buffer, share: BodyShare): void {
    if (this.#isEnded) return;
    this.#size += chunk.length;
    if (this.#size > this.maxBytes) this.#refuse(new PayloadTooLargeException());
    else if (share.add(chunk.length)) this.#chunks.push(chunk);
    else this.#refuseCrowd();
  }

  #end(): void {
    if (this.#isEnded) return;
    this.#stop();
    const [first] = this.#chunks;
    const isOne = this.#chunks.length === 1 && first !== undefined;
    this.#resolve(isOne ? first : Buffer.concat(this.#chunks));
  }

  #refuse(error: HttpException): void {
    if (this.#isEnded) return;
    this.#stop();
    this.#chunks.length = 0;
    this.#reject(error);
  }

  /** Bytes that still arrive belong to no request. */
  #leave(error: HttpException): void {
    if (!this.response.headersSent) this.response.setHeader('Connection', 'close');
    this.#refuse(error);
  }

  #refuseCrowd(): void {
    if (!this.response.headersSent) this.response.setHeader('Retry-After', CROWD_RETRY_SECONDS);
    this.#leave(
      new HttpException(
        'Too many large request bodies at once. Try again.',
        HttpStatus.TOO_MANY_REQUESTS,
      ),
    );
    this.request.pause();
  }

  #stop(): void {
    this.#isEnded = true;
    clearTimeout(this.#timer);
    if (this.#inflater === undefined) return;
    // The rest of the body is read and dropped, so that the connection can be used again.
    this.request.unpipe(this.#inflater).resume();
    this.#inflater.destroy();
  }
}

function cutOff(): BadRequestException {
  return new BadRequestException('The body ended before it was complete.');
}

function inflatesTooMuch(): BadRequestException {
  return new BadRequestException(
    `The body inflates to more than ${INFLATED_TIMES_MAX} times its size.`,
  );
}

/** @throws UnsupportedMediaTypeException */
function inflaterFor({ headers }: IncomingMessage): (() => Transform) | undefined {
  const encoding = headers['content-encoding']?.toLowerCase() ?? 'identity';
  if (encoding === 'identity') return undefined;
  const inflater = Object.hasOwn(INFLATERS, encoding) ? INFLATERS[encoding] : undefined;
  if (inflater === undefined) throw new UnsupportedMediaTypeException();
  return inflater;
}
