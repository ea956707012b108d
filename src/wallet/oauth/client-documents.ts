import { Inject, Injectable, type OnModuleDestroy } from '@nestjs/common';
import type { WalletConfig } from '../../platform/config/wallet-settings.js';
import { FetchError, SafeFetch } from '../../platform/fetch/safe-fetch.js';
import { isJsonObject } from '../../protocol/payment/wire-values.js';
import { WALLET_SETTINGS } from '../wallet-tokens.js';
import { keepKnownFields } from './client-metadata.js';

/** The library's own limit (draft-ietf-oauth-client-id-metadata-document, section 6.6). */
const DOCUMENT_MAX_BYTES = 5120;
const HEADERS_MAX_BYTES = 8192;
const TIMEOUT_MS = 2500;
/** Limit of documents fetched at the same time, for all callers together. */
const FETCHES_MAX = 32;
/** Limit for one network: sixteen networks are needed to block all others. */
const NETWORK_FETCHES_MAX = 2;

/**
 * Fetches the metadata documents that clients name. A stranger chooses the URL, so only public addresses and those on a
 * separate list are allowed, without redirects, and with small limits of size and time.
 */
@Injectable()
export class ClientDocuments implements OnModuleDestroy {
  readonly #safe: SafeFetch;
  readonly #byNetwork = new Map<string, number>();
  #running = 0;

  constructor(
    @Inject(WALLET_SETTINGS) { oauthFetchAllow: allow }: Pick<WalletConfig, 'oauthFetchAllow'>,
  ) {
    this.#safe = new SafeFetch({
      userAgent: 'x402-wallet',
      allow,
      maxBytes: DOCUMENT_MAX_BYTES,
      maxHeaderBytes: HEADERS_MAX_BYTES,
    });
  }

  /**
   * In the form of `fetch`, as the library requires.
   *
   * @param network - the network of the caller.
   * @throws FetchError
   */
  async fetch(url: string, network: string): Promise<Response> {
    const own = this.#byNetwork.get(network) ?? 0;
    if (this.#running >= FETCHES_MAX || own >= NETWORK_FETCHES_MAX) {
      throw new FetchError(
        'fetch_refused',
        'Too many client documents are being fetched. Try again.',
      );
    }
    this.#running += 1;
    this.#byNetwork.set(network, own + 1);
    try {
      return await this.#fetch(url);
    } finally {
      this.#running -= 1;
      const left = (this.#byNetwork.get(network) ?? 0) - 1;
      if (left > 0) this.#byNetwork.set(network, left);
      else this.#byNetwork.delete(network);
    }
  }

  onModuleDestroy(): Promise<void> {
    return this.#safe.close();
  }

  async #fetch(url: string): Promise<Response> {
    const wanted = { url, method: 'GET', headers: { accept: 'application/json' } } as const;
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const answer = await this.#safe.fetch({ ...wanted, body: undefined }, signal);
    // The host in the client's name vouches for it; a host after a redirect does not.
    if (answer.url !== new URL(url).href || answer.isCutOff) {
      throw new FetchError(
        'fetch_failed',
        'The client document is too large, or its URL redirects.',
      );
    }
    const { status, headers, body } = answer;
    return new Response(status === 200 ? knownOf(body) : null, { status, headers });
  }
}

/** The library refuses a document for fields that are not used here, so these are removed first. */
function knownOf(body: Uint8Array): Uint8Array<ArrayBuffer> | string {
  let document: unknown;
  try {
    document = JSON.parse(Buffer.from(body).toString('utf8'));
  } catch {
    return new Uint8Array(body);
  }
  if (!isJsonObject(document)) return new Uint8Array(body);
  const known = { ...document };
  keepKnownFields(known);
  return JSON.stringify(known);
}
