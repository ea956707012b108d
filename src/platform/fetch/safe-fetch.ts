import type { LookupFunction } from 'node:net';
import { Agent, type Dispatcher, request } from 'undici';
import { FacilitatorError } from '../../protocol/errors.js';
import { isUrl } from '../http/urls.js';
import { isAllowedHost, isPrivateLiteral } from './address-guard.js';
import { NotPublicError, publicLookup } from './public-lookup.js';

const REDIRECTS_MAX = 3;
/** How long an idle connection is kept, whatever the server asks for: anybody may name servers, one after the other. */
const IDLE_MS = 2000;
const KEPT = { keepAliveTimeout: IDLE_MS, keepAliveMaxTimeout: IDLE_MS } as const;
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;
export type FetchMethod = (typeof METHODS)[number];
export const FETCH_METHODS: readonly FetchMethod[] = METHODS;

/** Headers that belong to the connection or to a payment. Agents may not set them. */
const FORBIDDEN_HEADERS =
  /^(host|connection|content-length|transfer-encoding|upgrade|te|trailer|expect|keep-alive|proxy-.*|x-payment.*|payment-.*|accept-encoding)$/i;
/** The only headers that are sent to another origin after a redirect. */
const HARMLESS_HEADERS = new Set(['accept', 'accept-language', 'user-agent']);

export interface FetchRequest {
  readonly url: string;
  readonly method: FetchMethod | 'OPTIONS';
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

export interface FetchAnswer {
  /** The URL after redirects. */
  readonly url: string;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** At most the size limit. */
  readonly body: Buffer;
  readonly isCutOff: boolean;
}

/** An answer whose body is read as a stream, without a size limit. */
export interface OpenAnswer extends Omit<FetchAnswer, 'body' | 'isCutOff'> {
  /**
   * Can be read once.
   *
   * @throws FetchError if the connection breaks.
   */
  readonly body: AsyncIterable<Buffer>;
  /** The first bytes of a body that is not needed whole, up to the size limit. */
  readonly start: () => Promise<Pick<FetchAnswer, 'body' | 'isCutOff'>>;
}

interface FetchLimits {
  /** The `User-Agent` that servers see. */
  readonly userAgent: string;
  readonly maxBytes: number;
  /** Maximum bytes of all headers of an answer; 16 KiB if absent. */
  readonly maxHeaderBytes?: number;
  /** `host` or `host:port` that may be fetched although they are not public. */
  readonly allow: ReadonlySet<string>;
}

/**
 * The compression of an answer although none was accepted; `undefined` without compression. Such a body is never
 * decompressed.
 */
export function compressionOf({ headers }: Pick<FetchAnswer, 'headers'>): string | undefined {
  const encoding = headers['content-encoding'];
  return encoding === 'identity' ? undefined : encoding;
}

/** `fetch_refused`: nothing was sent. `fetch_failed`: the request failed. The text may be shown to the caller. */
export class FetchError extends FacilitatorError {
  constructor(
    readonly code: 'fetch_refused' | 'fetch_failed',
    message: string,
  ) {
    super(message);
    this.name = 'FetchError';
  }
}

/**
 * Fetches URLs of other parties. Only public addresses are allowed; the check is on the address of the connection,
 * and is repeated for every redirect.
 */
export class SafeFetch {
  readonly #guarded: Agent;
  readonly #allowed: Agent;

  /** @param lookup - of names that no operator has named. */
  constructor(
    private readonly limits: FetchLimits,
    lookup: LookupFunction = publicLookup(),
  ) {
    const { maxHeaderBytes } = limits;
    const options = {
      ...KEPT,
      ...(maxHeaderBytes !== undefined && { maxHeaderSize: maxHeaderBytes }),
    };
    this.#guarded = new Agent({ ...options, connect: { lookup } });
    this.#allowed = new Agent(options);
  }

  /**
   * @param mayFollow - decides on each redirect to an allowed URL; a refused redirect becomes the answer.
   * @throws FetchError
   */
  async fetch(
    wanted: FetchRequest,
    signal: AbortSignal,
    mayFollow: (to: URL) => boolean = () => true,
  ): Promise<FetchAnswer> {
    const { method, ...first } = readRequest(wanted);
    let { url, headers, body } = first;
    for (let redirects = 0; ; redirects += 1) {
      const answer = await this.#once(url, { method, headers, body }, signal);
      const target = redirectOf(answer, url, method);
      if (target === undefined || !mayFollow(new URL(target))) return answer;
      if (redirects === REDIRECTS_MAX) throw refused('the URL redirects too often');
      if (new URL(target).origin !== new URL(url).origin) {
        // Headers for one server are not sent to another.
        headers = harmless(headers);
        body = undefined;
      }
      url = target;
    }
  }

  /**
   * Presents a payment. Redirects are not followed: they could lead the payment to another server.
   *
   * @throws FetchError
   */
  present(
    wanted: FetchRequest,
    [name, value]: readonly [name: string, value: string],
    signal: AbortSignal,
  ): Promise<FetchAnswer> {
    const { url, method, headers, body } = readRequest(wanted);
    return this.#once(url, { method, headers: { ...headers, [name]: value }, body }, signal);
  }

  /**
   * Fetches without waiting for the body, which has no size limit here. Redirects are not followed. The caller must
   * read the answer, or abort it by the signal.
   *
   * @param headers - of this service, such as a payment; agents may not set them.
   * @throws FetchError
   */
  async open(
    wanted: FetchRequest,
    headers: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<OpenAnswer> {
    const { url, method, headers: given, body } = readRequest(wanted);
    const all = { ...given, ...headers };
    const response = await this.#send(url, { method, headers: all, body }, signal);
    const start = async (): Promise<Pick<FetchAnswer, 'body' | 'isCutOff'>> => {
      const { bytes, isCutOff } = await this.#read(response.body);
      return { body: bytes, isCutOff };
    };
    return { ...headOf(url, response), body: found(response.body), start };
  }

  async close(): Promise<void> {
    await Promise.all([this.#guarded.destroy(), this.#allowed.destroy()]);
  }

  async #once(
    url: string,
    { method, headers, body }: Omit<FetchRequest, 'url'>,
    signal: AbortSignal,
  ): Promise<FetchAnswer> {
    const response = await this.#send(url, { method, headers, body }, signal);
    const { bytes, isCutOff } = await this.#read(response.body);
    return { ...headOf(url, response), body: bytes, isCutOff };
  }

  async #send(
    url: string,
    { method, headers, body }: Omit<FetchRequest, 'url'>,
    signal: AbortSignal,
  ): Promise<Dispatcher.ResponseData> {
    const dispatcher = this.#dispatcherFor(new URL(url));
    try {
      return await request(url, {
        dispatcher,
        method,
        // A compressed answer could be far larger than its bytes.
        headers: { 'user-agent': this.limits.userAgent, ...headers, 'accept-encoding': 'identity' },
        body: body ?? null,
        signal,
      });
    } catch (error) {
      throw failure(error);
    }
  }

  #dispatcherFor(url: URL): Dispatcher {
    const { protocol, username, password } = url;
    if (protocol !== 'http:' && protocol !== 'https:')
      throw refused('the scheme is neither http nor https');
    if (username !== '' || password !== '') throw refused('the URL contains credentials');
    if (isAllowedHost(url, this.limits.allow)) return this.#allowed;
    // A name is judged when it is resolved; an address in the URL never is resolved.
    if (isPrivateLiteral(url)) throw refused(NOT_PUBLIC);
    return this.#guarded;
  }

  async #read(
    body: Dispatcher.ResponseData['body'],
  ): Promise<{ readonly bytes: Buffer; readonly isCutOff: boolean }> {
    const chunks: Buffer[] = [];
    let size = 0;
    try {
      for await (const chunk of body as AsyncIterable<Buffer>) {
        chunks.push(chunk);
        size += chunk.length;
        if (size > this.limits.maxBytes) break;
      }
    } catch (error) {
      throw failure(error);
    }
    const bytes = Buffer.concat(chunks).subarray(0, this.limits.maxBytes);
    return { bytes, isCutOff: size > this.limits.maxBytes };
  }
}

function headOf(
  url: string,
  response: Dispatcher.ResponseData,
): Pick<FetchAnswer, 'url' | 'status' | 'headers'> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(response.headers)) {
    if (typeof value === 'string') headers[name] = value;
  }
  return { url, status: response.statusCode, headers };
}

async function* found(body: Dispatcher.ResponseData['body']): AsyncGenerator<Buffer> {
  try {
    yield* body as AsyncIterable<Buffer>;
  } catch (error) {
    throw failure(error);
  }
}

function readRequest(wanted: FetchRequest): FetchRequest {
  if (!isUrl(wanted.url)) throw refused('the text is not a URL');
  for (const [name, value] of Object.entries(wanted.headers)) {
    if (FORBIDDEN_HEADERS.test(name)) throw refused(`the header ${name} may not be set`);
    if (!/^[\w!#$%&'*+.^`|~-]{1,64}$/.test(name) || !/^[\t\x20-\x7e]{0,4096}$/.test(value)) {
      throw refused('a header is not well-formed');
    }
  }
  return { ...wanted, url: new URL(wanted.url).href };
}

/**
 * The target of a redirect for GET and HEAD. Other methods are not redirected, because their method would have to
 * change.
 */
function redirectOf(
  { status, headers }: FetchAnswer,
  url: string,
  method: FetchRequest['method'],
): string | undefined {
  const { location } = headers;
  if (![301, 302, 303, 307, 308].includes(status) || location === undefined) return undefined;
  if (method !== 'GET' && method !== 'HEAD') return undefined;
  if (!isUrl(location, url)) throw refused('the URL redirects to an invalid URL');
  return new URL(location, url).href;
}

function harmless(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => HARMLESS_HEADERS.has(name.toLowerCase())),
  );
}

/** The text of the error is not shown, because it may describe the network of this machine. */
function failure(error: unknown): FetchError {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof FetchError) return cause;
    if (cause instanceof NotPublicError) return refused(NOT_PUBLIC);
    if (cause.name === 'TimeoutError')
      return new FetchError('fetch_failed', 'The server did not answer in time.');
  }
  return new FetchError('fetch_failed', 'The server is unreachable or closed the connection.');
}

const NOT_PUBLIC = 'the address of the host is not public';

function refused(why: string): FetchError {
  return new FetchError('fetch_refused', `This service does not fetch this URL: ${why}.`);
}
