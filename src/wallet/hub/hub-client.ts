import { z } from 'zod';
import { AnswerTooLargeError, boundedFetch } from '../../platform/fetch/bounded-fetch.js';
import { type JsonBounds, parseWithinBounds } from '../../protocol/payment/json-bounds.js';
import type { Session } from '../session.js';
import { WalletError } from '../wallet-error.js';
import type { HubRequest, HubSigner } from './hub-signer.js';

const LIST_BOUNDS: JsonBounds = { maxDepth: 6, maxValues: 20_000 };
/** A hundred rows are far smaller. */
const LIST_MAX_BYTES = 1_048_576;
/** Longer than any signal. */
const STREAM_MAX_MS = 900_000;
const ETAG = /^"([0-9a-f]{64})"$/;
const RANGE = /^bytes 0-\d+\/(\d{1,15})$/;

const Row = z.object({ Name: z.string(), Size: z.int(), CreatedAt: z.string().max(64) });
const Received = z.object({ Size: z.int(), Sha256: z.string().regex(/^[0-9a-f]{64}$/) });

/** The facts of a file from the hub. */
interface HubFile {
  readonly size: number;
  /** Hex. */
  readonly sha256: string;
  readonly contentType: string;
}

interface HubRow {
  readonly name: string;
  readonly size: number;
  readonly at: string;
}

/**
 * Client of the operator's file hub, on behalf of a wallet. The hub's address may be private. Texts of agents change
 * only the query of a URL.
 */
export class HubClient {
  constructor(
    private readonly signer: HubSigner,
    private readonly url: string,
    private readonly timeoutMs: number,
  ) {}

  /** The URL of a link. @param path - such as `/api/shared`. */
  addressOf(path: string, link: string): string {
    return `${this.url}${path}?link=${link}`;
  }

  /**
   * Stores a file through an upload link.
   *
   * @param stream - ends the upload, if the bytes arrive while it runs.
   * @throws WalletError
   */
  async put(
    link: string,
    contentType: string,
    bytes: Buffer | AsyncIterable<Buffer>,
    stream?: AbortSignal,
  ): Promise<{ readonly size: number; readonly sha256: string }> {
    const response = await this.#fetch(this.addressOf('/api/incoming', link), LIST_MAX_BYTES, {
      method: 'PUT',
      headers: contentType === '' ? {} : { 'content-type': contentType },
      body: bytes as RequestInit['body'] & object,
      duplex: 'half',
      ...(stream !== undefined && { signal: stream }),
    });
    const received = Received.safeParse(await this.#json(response));
    if (!received.success) throw noHub();
    return { size: received.data.Size, sha256: received.data.Sha256 };
  }

  /** The facts of a file. @throws WalletError `not_found` */
  async look(session: Session, name: string): Promise<HubFile> {
    const response = await this.#ask(
      session,
      { method: 'HEAD', path: downloadOf(session, name) },
      0,
    );
    return fileOf(response, Number(response.headers.get('content-length')));
  }

  /**
   * The first bytes of a file.
   *
   * @param maxBytes - to read; the file may be larger.
   * @throws WalletError `not_found`
   */
  async read(
    session: Session,
    name: string,
    maxBytes: number,
  ): Promise<HubFile & { readonly bytes: Buffer }> {
    const request = { method: 'GET', path: downloadOf(session, name) } as const;
    const range = { range: `bytes=0-${maxBytes - 1}` };
    const response = await this.#ask(session, request, maxBytes, range);
    const [, size] = RANGE.exec(response.headers.get('content-range') ?? '') ?? [];
    const bytes = Buffer.from(await response.arrayBuffer());
    return { ...fileOf(response, Number(size)), bytes };
  }

  /** Newest first. @throws WalletError */
  async list(session: Session, offset: number, length: number): Promise<readonly HubRow[]> {
    const query = { owner: session.wallet.address, offset: String(offset), length: String(length) };
    const path = `/api/listNeedle?${new URLSearchParams(query).toString()}`;
    const response = await this.#ask(session, { method: 'GET', path }, LIST_MAX_BYTES);
    const rows = z
      .array(Row)
      .max(length)
      .safeParse(await this.#json(response));
    if (!rows.success) throw noHub();
    return rows.data.map(({ Name: name, Size: size, CreatedAt: at }) => ({ name, size, at }));
  }

  /** Deletes a name. @throws WalletError `not_found` */
  async remove(session: Session, name: string): Promise<void> {
    const query = new URLSearchParams({ owner: session.wallet.address, name });
    const path = `/api/object?${query.toString()}`;
    await this.#ask(session, { method: 'DELETE', path }, LIST_MAX_BYTES);
  }

  /**
   * Revokes links of a path.
   *
   * @param which - the links; all of them where none is named.
   * @param isEnding - whether a stopped wallet may do it too.
   * @throws WalletError
   */
  async revoke(
    session: Session,
    path: string,
    which: { readonly link?: string; readonly family?: string },
    isEnding = false,
  ): Promise<void> {
    const query = new URLSearchParams({ owner: session.wallet.address, ...which });
    const asked = `${path}?${query.toString()}`;
    await this.#ask(session, { method: 'DELETE', path: asked, isEnding }, LIST_MAX_BYTES);
  }

  async #ask(
    session: Session,
    request: HubRequest,
    maxBytes: number,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Response> {
    const authorization = await this.signer.request(session, request);
    const { method, path } = request;
    return this.#fetch(`${this.url}${path}`, Math.max(maxBytes, LIST_MAX_BYTES), {
      method,
      headers: { ...headers, authorization },
    });
  }

  /** The error's text is not passed on, because it may reveal the operator's network. */
  async #fetch(url: string, maxBytes: number, request: RequestInit): Promise<Response> {
    let response: Response;
    try {
      // A request with its own signal may take as long as that signal allows.
      const timeoutMs = request.signal ? STREAM_MAX_MS : this.timeoutMs;
      response = await boundedFetch(timeoutMs, maxBytes)(url, request);
    } catch (error) {
      throw new WalletError(
        'fetch_failed',
        error instanceof AnswerTooLargeError
          ? 'The URL is not the URL of a file hub.'
          : 'The file hub could not be reached, or did not answer in time.',
      );
    }
    if (response.status === 200 || response.status === 206) return response;
    throw refusalOf(response);
  }

  async #json(response: Response): Promise<unknown> {
    const value = parseWithinBounds(await response.text(), LIST_BOUNDS);
    if (value === undefined) throw noHub();
    return value;
  }
}

function downloadOf({ wallet }: Session, name: string): string {
  const query = new URLSearchParams({ owner: wallet.address, name, download: '1' });
  return `/api/download?${query.toString()}`;
}

function fileOf({ headers }: Response, size: number): HubFile {
  const [, sha256] = ETAG.exec(headers.get('etag') ?? '') ?? [];
  if (sha256 === undefined || !Number.isSafeInteger(size)) throw noHub();
  return { size, sha256, contentType: headers.get('content-type') ?? 'application/octet-stream' };
}

function noHub(): WalletError {
  return new WalletError('fetch_failed', 'The URL is not the URL of a file hub.');
}

/** By the status alone, in the words of this service. */
function refusalOf({ status, headers }: Response): WalletError {
  switch (status) {
    case 401:
      return new WalletError(
        'fetch_failed',
        "The file hub refused this wallet's signature. The operator has to check WALLET_HUB_ADDRESS and the clocks.",
      );
    case 403:
      return new WalletError(
        'forbidden',
        'The file hub refused this request: the wallet has reached its storage limit, or the hub is public and does not delete files.',
      );
    case 404:
      return new WalletError('not_found', 'There is no such file.');
    case 413:
      return new WalletError(
        'invalid_request',
        'The file is above the size limit of the file hub.',
      );
    case 451:
      return new WalletError('forbidden', 'The operator of the file hub has taken this file down.');
    // 410 means a link that this service made a moment ago: all links were revoked in the same second.
    case 408:
    case 410:
    case 429:
    case 503: {
      const seconds = Number(headers.get('retry-after') ?? '1');
      const retryAfterSeconds = seconds >= 1 && seconds <= 3600 ? Math.ceil(seconds) : 1;
      const why = 'The file hub is unavailable. Try again.';
      return new WalletError('unavailable', why, { retryAfterSeconds });
    }
    default:
      return noHub();
  }
}
