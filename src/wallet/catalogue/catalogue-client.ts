import { AnswerTooLargeError, boundedFetch } from '../../platform/fetch/bounded-fetch.js';
import {
  isLightJson,
  type JsonBounds,
  parseWithinBounds,
} from '../../protocol/payment/json-bounds.js';
import { isJsonObject, isShortText, type JsonObject } from '../../protocol/payment/wire-values.js';
import { WalletError } from '../wallet-error.js';

/** Twenty entries are far smaller, unless sellers enlarge them. */
const ANSWER_MAX_BYTES = 4_194_304;
const ANSWER_BOUNDS: JsonBounds = { maxDepth: 24, maxValues: 200_000 };
const CURSOR = /^[\w.~+/=-]{1,400}$/;

/** Some entries of a catalogue as sent, untrusted. */
interface CataloguePage {
  /** At most the requested number. */
  readonly items: readonly JsonObject[];
  /** Where the next page begins; `undefined` on the last one. */
  readonly cursor: string | undefined;
}

/** Parameters of a query; undefined ones are not sent. */
type CatalogueQuery = Readonly<Record<string, string | undefined>> & {
  readonly limit: string;
};

/**
 * Client of the catalogue (Bazaar) that the operator has named. Its address may be private, like that of any service of
 * the operator. Texts of agents and sellers change only the query of the URL.
 */
export class CatalogueClient {
  readonly #fetch: typeof fetch;

  /**
   * @param url - without a trailing slash.
   * @param timeoutMs - of one request.
   */
  constructor(
    private readonly url: string,
    timeoutMs: number,
  ) {
    this.#fetch = boundedFetch(timeoutMs, ANSWER_MAX_BYTES);
  }

  /** Entries by relevance, the best first. @throws WalletError */
  search(query: CatalogueQuery, signal?: AbortSignal): Promise<CataloguePage> {
    return this.#ask('/discovery/search', query, signal);
  }

  /** Without words: in the catalogue's own order. @throws WalletError */
  list(query: CatalogueQuery, signal?: AbortSignal): Promise<CataloguePage> {
    return this.#ask('/discovery/resources', query, signal);
  }

  async #ask(path: string, query: CatalogueQuery, signal?: AbortSignal): Promise<CataloguePage> {
    const given = Object.entries(query).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, value] as [string, string]],
    );
    const url = `${this.url}${path}?${new URLSearchParams(given).toString()}`;
    const { status, text } = await this.#fetched(url, signal);
    if (status === 400) {
      const why = 'The catalogue refused this query, or the cursor belongs to another query.';
      throw new WalletError('invalid_request', why);
    }
    if (status === 429 || status === 503) {
      throw new WalletError('unavailable', 'The catalogue is unavailable. Try again.');
    }
    const page = status === 200 ? pageOf(text, Number(query.limit)) : undefined;
    if (page !== undefined) return page;
    throw new WalletError('fetch_failed', 'The URL is not the URL of a catalogue.');
  }

  /** The error's text is not passed on, because it may reveal the operator's network. */
  async #fetched(url: string, signal?: AbortSignal) {
    try {
      const headers = { accept: 'application/json' };
      const response = await this.#fetch(url, { headers, ...(signal && { signal }) });
      const text = await response.text();
      if (!isLightJson(text)) throw new AnswerTooLargeError();
      return { status: response.status, text };
    } catch (error) {
      const why =
        error instanceof AnswerTooLargeError
          ? 'The answer of the catalogue is too large. Ask for fewer services with a smaller "limit".'
          : 'The catalogue could not be reached, or did not answer in time.';
      throw new WalletError('fetch_failed', why);
    }
  }
}

/** @returns `undefined` for an answer that is not a page of a catalogue. */
function pageOf(text: string, most: number): CataloguePage | undefined {
  const sent = parseWithinBounds(text, ANSWER_BOUNDS);
  // Searches have `resources`, lists have `items`.
  const items = isJsonObject(sent) ? (sent['resources'] ?? sent['items']) : undefined;
  if (!isJsonObject(sent) || !Array.isArray(items)) return undefined;
  const pagination = isJsonObject(sent['pagination']) ? sent['pagination'] : {};
  const cursor = pagination['cursor'] ?? pagination['nextCursor'];
  return {
    items: (items as unknown[]).slice(0, most).filter(isJsonObject),
    cursor: isShortText(cursor, 400) && CURSOR.test(cursor) ? cursor : undefined,
  };
}
