import { AnswerTooLargeError, boundedFetch } from '../../platform/fetch/bounded-fetch.js';
import { isWithinBounds, type JsonBounds } from '../../protocol/payment/json-bounds.js';
import { isJsonObject, isShortText, type JsonObject } from '../../protocol/payment/wire-values.js';
import { WalletError } from '../wallet-error.js';

/** Twenty entries are far less, unless sellers want them to be more. */
const ANSWER_MAX_BYTES = 4_194_304;
const ANSWER_BOUNDS: JsonBounds = { maxDepth: 24, maxValues: 200_000 };
const CURSOR = /^[\w.~+/=-]{1,400}$/;

/** Some entries of a catalogue, as it sent them. Nothing of it is trusted. */
interface CataloguePage {
  /** As many as were asked for, at most. */
  readonly items: readonly JsonObject[];
  /** Where the next page begins; `undefined` on the last one. */
  readonly cursor: string | undefined;
}

/** Parameters of a query; what is `undefined` is not sent. */
type CatalogueQuery = Readonly<Record<string, string | undefined>> & {
  readonly limit: string;
};

/**
 * Asks the catalogue (Bazaar) that the operator has named. Its address may be a private one, as that of any
 * service of the operator; nothing that agents or sellers say changes more of the URL than its query.
 */
export class CatalogueClient {
  readonly #fetch: typeof fetch;

  /**
   * @param url - without a slash at its end.
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
      const why = 'The catalogue does not take this query, or this cursor is not of it.';
      throw new WalletError('invalid_request', why);
    }
    if (status === 429 || status === 503) {
      throw new WalletError('unavailable', 'The catalogue is unavailable. Try again.');
    }
    const page = status === 200 ? pageOf(text, Number(query.limit)) : undefined;
    if (page !== undefined) return page;
    throw new WalletError('fetch_failed', 'The URL does not answer like a catalogue.');
  }

  /** Nothing of the error's text is passed on: it may tell about the operator's network. */
  async #fetched(url: string, signal?: AbortSignal) {
    try {
      const headers = { accept: 'application/json' };
      const response = await this.#fetch(url, { headers, ...(signal && { signal }) });
      return { status: response.status, text: await response.text() };
    } catch (error) {
      const why =
        error instanceof AnswerTooLargeError
          ? 'The catalogue says more than is read here. Ask for fewer: a smaller "limit".'
          : 'The catalogue could not be reached, or took too long.';
      throw new WalletError('fetch_failed', why);
    }
  }
}

/** @returns `undefined` for what is no page of a catalogue. */
function pageOf(text: string, most: number): CataloguePage | undefined {
  const sent = parsed(text);
  // Searches have `resources`, lists have `items`.
  const items = sent?.['resources'] ?? sent?.['items'];
  if (sent === undefined || !Array.isArray(items)) return undefined;
  const pagination = isJsonObject(sent['pagination']) ? sent['pagination'] : {};
  const cursor = pagination['cursor'] ?? pagination['nextCursor'];
  return {
    items: (items as unknown[]).slice(0, most).filter(isJsonObject),
    cursor: isShortText(cursor, 400) && CURSOR.test(cursor) ? cursor : undefined,
  };
}

function parsed(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) && isWithinBounds(value, ANSWER_BOUNDS) ? value : undefined;
  } catch {
    return undefined;
  }
}
