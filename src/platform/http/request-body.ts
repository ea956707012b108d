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
import { AppConfig } from '../config/app-config.js';
import { BodyShare, ByteBudget, FREE_BODY_BYTES, LONG_BODIES } from './byte-budget.js';
import { hasFewBrackets } from './json-brackets.js';
import { whenOver } from './response-end.js';

/**
 * Milliseconds a body may take to arrive, as a guard against slow senders (slowloris). The largest
 * body takes a tenth of it on a slow line.
 */
export const BODY_TIMEOUT_MS = 10_000;

const CROWD_RETRY_SECONDS = 1;

/** Far above any request to a facilitator or a wallet. */
const BRACKETS = { maxDepth: 64, maxCount: 20_000 } as const;
/** In fewer bytes, brackets cost less than the reading of the body. */
const FEW_BYTES = 16_384;

/** A way to read a compressed body, the memory that it takes, and the budget for that. */
interface Inflater {
  readonly make: () => Transform;
  readonly bytes: number;
  readonly budget: ByteBudget;
}

const ZLIB = { bytes: 65_536, budget: LONG_BODIES } as const;
/**
 * Brotli has up to 256 tables of each of three kinds, of about 4 KiB each, which a body of 1 KB declares. With a budget
 * of their own, for eight bodies at once, they keep no others out.
 */
const BROTLI = { bytes: 3_145_728, budget: new ByteBudget(25_165_824) } as const;

/** By the name of an encoding. */
const INFLATERS: Readonly<Record<string, Inflater>> = {
  gzip: { make: createGunzip, ...ZLIB },
  deflate: { make: createInflate, ...ZLIB },
  br: { make: createBrotliDecompress, ...BROTLI },
};
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
    const inflater = inflaterFor(request);
    if (Number(request.headers['content-length'] ?? 0) > this.#maxBytes) {
      throw new PayloadTooLargeException();
    }
    const body = new ArrivingBody(request, response, this.#maxBytes);
    return inflater === undefined ? body.plain() : body.inflated(inflater);
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
  #inflater: Transform | undefined;
  /** The memory of {@link #inflater}. */
  #working: BodyShare | undefined;
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
  inflated({ make, bytes, budget }: Inflater): Promise<Buffer> {
    const share = this.#share(0);
    if (this.#isEnded) return this.#outcome;
    this.#working = new BodyShare(budget, 0);
    if (!this.#working.add(bytes)) {
      this.#refuseCrowd();
      return this.#outcome;
    }
    this.request.on('data', (chunk: Buffer) => {
      this.#received += chunk.length;
    });
    this.#inflater = make()
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

  /** A share of the budget, until the request is answered or its connection closed. */
  #share(freeBytes: number): BodyShare {
    const share = new BodyShare(LONG_BODIES, freeBytes);
    whenOver(this.response, () => {
      // Nearly every body has ended by now, and an exception with its stack is not cheap.
      if (!this.#isEnded) this.#refuse(cutOff());
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

  /** Bytes that still arrive are dropped. */
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
    this.#working?.release();
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
    `The decompressed body is more than ${INFLATED_TIMES_MAX} times as large as the compressed body.`,
  );
}

/** @throws UnsupportedMediaTypeException */
function inflaterFor({ headers }: IncomingMessage): Inflater | undefined {
  const encoding = headers['content-encoding']?.toLowerCase() ?? 'identity';
  if (encoding === 'identity') return undefined;
  const inflater = Object.hasOwn(INFLATERS, encoding) ? INFLATERS[encoding] : undefined;
  if (inflater === undefined) throw new UnsupportedMediaTypeException();
  return inflater;
}
