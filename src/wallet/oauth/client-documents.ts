import { FetchError, SafeFetch } from '../../platform/fetch/safe-fetch.js';

/** As much as the library reads of one (draft-ietf-oauth-client-id-metadata-document, section 6.6). */
const DOCUMENT_MAX_BYTES = 5120;
const HEADERS_MAX_BYTES = 8192;
const TIMEOUT_MS = 2500;
/** Documents that are fetched at the same time, whoever asks for them. */
const FETCHES_MAX = 8;

/**
 * Fetches what clients name as their metadata: a stranger says which URL, so it is fetched as agents'
 * URLs are. Public addresses alone, no redirects, little, and soon.
 */
export class ClientDocuments {
  readonly #safe: SafeFetch;
  #running = 0;

  constructor(allow: ReadonlySet<string>) {
    this.#safe = new SafeFetch({
      ...{ userAgent: 'x402-wallet', allow },
      ...{ maxBytes: DOCUMENT_MAX_BYTES, maxHeaderBytes: HEADERS_MAX_BYTES },
    });
  }

  /** In the form of `fetch`, as the library wants it. @throws FetchError */
  async fetch(url: string): Promise<Response> {
    if (this.#running >= FETCHES_MAX) throw new FetchError('fetch_refused', 'Too many at once.');
    this.#running += 1;
    try {
      const wanted = { url, method: 'GET', headers: { accept: 'application/json' } } as const;
      const signal = AbortSignal.timeout(TIMEOUT_MS);
      const answer = await this.#safe.fetch({ ...wanted, body: undefined }, signal);
      // Who vouches for a client is the host in its name, and nobody that host sends us on to.
      if (answer.url !== new URL(url).href || answer.isCutOff) {
        throw new FetchError('fetch_failed', 'It is somewhere else, or too large.');
      }
      const { status, headers, body } = answer;
      return new Response(status === 200 ? new Uint8Array(body) : null, { status, headers });
    } finally {
      this.#running -= 1;
    }
  }

  close(): Promise<void> {
    return this.#safe.close();
  }
}
