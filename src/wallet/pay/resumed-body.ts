import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { FetchError, type OpenAnswer } from '../../platform/fetch/safe-fetch.js';
import { WalletError } from '../wallet-error.js';

/** Consecutive failures without a byte between them. */
const FAILURES_MAX = 6;
/** Limit for one body: each attempt may have brought a byte. */
const RESUMED_MAX = 64;
const PAUSE_MS = 200;
/** Statuses of a server that is temporarily unavailable. */
const LATER: ReadonlySet<number> = new Set([408, 429, 500, 502, 503, 504]);
const RANGE = /^bytes (\d{1,15})-\d{1,15}\/(\d{1,15})$/;

/** The expected SHA-256 and size of a file, as far as its offer names them. */
export interface ExpectedFile {
  /** Hex without `0x`. */
  readonly sha256?: string | undefined;
  readonly size?: number | undefined;
  /** A media type without parameters. */
  readonly contentType?: string | undefined;
}

export interface BodySource {
  /** The answer with the wanted body. */
  readonly first: OpenAnswer;
  /** Repeats the request with more headers, without paying again. @throws FetchError */
  readonly again: (headers: Readonly<Record<string, string>>) => Promise<OpenAnswer>;
  readonly expected: ExpectedFile;
  readonly maxBytes: number;
  /** Aborts everything. */
  readonly signal: AbortSignal;
  /** Milliseconds before the second of consecutive attempts; each further pause is twice as long. */
  readonly pauseMs?: number;
}

/**
 * A body that resumes after its connection broke off, as long as it is the same file: by a range where the server
 * supports it, otherwise by reading the beginning again. It ends only when it is complete and as expected; otherwise it
 * throws, so that a part never counts as the whole.
 */
export class ResumedBody implements AsyncIterable<Buffer> {
  readonly #hash = createHash('sha256');
  readonly #size: number | undefined;
  #bytes = 0;
  #asked = 0;
  #problem: unknown;

  constructor(private readonly source: BodySource) {
    const sent = /^\d{1,15}$/.exec(source.first.headers['content-length'] ?? '')?.[0];
    this.#size = sent === undefined ? source.expected.size : Number(sent);
  }

  /** The error it threw; its reader may report it as another one. */
  get problem(): unknown {
    return this.#problem;
  }

  /** `undefined` where it is unknown. */
  get size(): number | undefined {
    return this.#size;
  }

  /** Hex. Call it once, after all bytes were read. */
  sha256(): string {
    return this.#hash.copy().digest('hex');
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer> {
    try {
      yield* this.#whole();
      this.#assertExpected();
    } catch (error) {
      this.#problem = error;
      throw error;
    }
  }

  async *#whole(): AsyncGenerator<Buffer> {
    let answer = this.source.first;
    let [failures, skip] = [0, 0];
    for (;;) {
      try {
        for await (const chunk of answer.body) {
          const rest = chunk.subarray(Math.min(skip, chunk.length));
          skip -= chunk.length - rest.length;
          if (rest.length === 0) continue;
          failures = 0;
          this.#count(rest);
          yield rest;
        }
        if (this.#size === undefined || this.#bytes >= this.#size) return;
      } catch (error) {
        if (!(error instanceof FetchError)) throw error;
      }
      [answer, skip] = await this.#resumed(failures);
      failures += 1;
    }
  }

  /** @throws WalletError when it cannot be resumed. */
  async #resumed(failures: number): Promise<readonly [answer: OpenAnswer, skip: number]> {
    const { first, again, expected, signal, pauseMs = PAUSE_MS } = this.source;
    const etag = first.headers['etag'];
    const isSame = etag?.startsWith('"') === true;
    // The name or the bytes have to show that it is the same file.
    if (this.#size === undefined || (!isSame && expected.sha256 === undefined)) throw brokenOff();
    const headers = { range: `bytes=${this.#bytes}-`, ...(isSame && { 'if-range': etag }) };
    for (let failed = failures; failed < FAILURES_MAX; failed += 1) {
      if (failed > 0) await sleep(pauseMs * 2 ** (failed - 1), undefined, { signal }).catch(over);
      if (signal.aborted || this.#asked === RESUMED_MAX) break;
      this.#asked += 1;
      const answer = await again(headers).catch(cut);
      if (answer === undefined) continue;
      if (isSame && answer.headers['etag'] !== etag && answer.status < 300) throw changed();
      if (answer.status === 206) {
        const [, from, size] = RANGE.exec(answer.headers['content-range'] ?? '') ?? [];
        if (Number(from) === this.#bytes && Number(size) === this.#size) return [answer, 0];
        throw changed();
      }
      if (answer.status === 200) return [answer, this.#bytes];
      await answer.start().catch(cut);
      if (!LATER.has(answer.status)) break;
    }
    throw brokenOff();
  }

  #count(chunk: Buffer): void {
    this.#bytes += chunk.length;
    const { maxBytes } = this.source;
    if (this.#bytes > Math.min(maxBytes, this.#size ?? maxBytes)) {
      throw new WalletError(
        'fetch_failed',
        'The file is larger than announced, or than this wallet saves.',
      );
    }
    this.#hash.update(chunk);
  }

  #assertExpected(): void {
    const { sha256, size = this.#bytes } = this.source.expected;
    if (size === this.#bytes && (sha256 === undefined || sha256 === this.sha256())) return;
    throw new WalletError(
      'fetch_failed',
      'The seller sent another file than its offer names: the SHA-256 or the size differs.',
    );
  }
}

/** The signal itself reports it. */
function over(): void {
  // Nothing to do.
}

/** A connection that broke off is retried. */
function cut(error: unknown): undefined {
  if (error instanceof FetchError) return;
  if (!(error instanceof WalletError) || error.code !== 'fetch_failed') throw error;
}

function brokenOff(): WalletError {
  return new WalletError(
    'fetch_failed',
    'The seller closed the connection before the file was complete.',
  );
}

function changed(): WalletError {
  return new WalletError('fetch_failed', 'The seller changed the file during the download.');
}
