import { Inject, Injectable } from '@nestjs/common';
import type { WalletConfig } from '../../platform/config/wallet-settings.js';
import {
  type FetchAnswer,
  FetchError,
  type FetchRequest,
  type OpenAnswer,
  SafeFetch,
} from '../../platform/fetch/safe-fetch.js';
import { isLightJson } from '../../protocol/payment/json-bounds.js';
import { WalletError } from '../wallet-error.js';
import { WALLET_SETTINGS } from '../wallet-tokens.js';

/** Fetches for an agent, with errors in the wallet's own words. */
@Injectable()
export class WalletFetch {
  readonly #safe: SafeFetch;

  constructor(
    @Inject(WALLET_SETTINGS)
    {
      fetchMaxBytes: maxBytes,
      fetchAllow: allow,
    }: Pick<WalletConfig, 'fetchMaxBytes' | 'fetchAllow'>,
  ) {
    this.#safe = new SafeFetch({ maxBytes, allow, userAgent: 'x402-wallet' });
  }

  /** @throws WalletError `fetch_refused` before anything is sent; `fetch_failed` after. */
  fetch(wanted: FetchRequest, signal: AbortSignal): Promise<FetchAnswer> {
    return rethrowing(() => this.#safe.fetch(withContentType(wanted), signal));
  }

  /**
   * Presents a payment. Redirects are not followed: they could lead the payment to another server.
   *
   * @throws WalletError like {@link fetch}.
   */
  present(
    wanted: FetchRequest,
    header: readonly [name: string, value: string],
    signal: AbortSignal,
  ): Promise<FetchAnswer> {
    return rethrowing(() => this.#safe.present(withContentType(wanted), header, signal));
  }

  /**
   * Resolves before the body arrives, which may have any size. Redirects are not followed.
   *
   * @param headers - of the wallet itself, such as a payment.
   * @throws WalletError like {@link fetch}; the body throws a `FetchError` where it breaks off.
   */
  open(
    wanted: FetchRequest,
    headers: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<OpenAnswer> {
    return rethrowing(async () => {
      const answer = await this.#safe.open(withContentType(wanted), headers, signal);
      return { ...answer, start: () => rethrowing(answer.start) };
    });
  }

  close(): Promise<void> {
    return this.#safe.close();
  }
}

async function rethrowing<T>(fetching: () => Promise<T>): Promise<T> {
  try {
    return await fetching();
  } catch (error) {
    throw error instanceof FetchError ? new WalletError(error.code, error.message) : error;
  }
}

/**
 * The same request with the content type of its body, if the agent named none and the body is JSON: most sellers ignore
 * a body without a type, and would take the money for an empty request.
 *
 * @throws WalletError `invalid_request` for a body that takes long to read.
 */
export function withContentType(request: FetchRequest): FetchRequest {
  const { headers, body } = request;
  const isTyped = Object.keys(headers).some((name) => name.toLowerCase() === 'content-type');
  if (body === undefined || isTyped || !isJson(body)) return request;
  return { ...request, headers: { ...headers, 'content-type': 'application/json' } };
}

/** An object or a list; other JSON may be plain text as well. */
function isJson(body: string): boolean {
  if (!/^\s*[[{]/.test(body)) return false;
  if (!isLightJson(body)) {
    throw new WalletError(
      'invalid_request',
      'The body is nested too deep, or has too many objects, lists and fields, to find out whether it is JSON. Name its Content-Type in headers.',
    );
  }
  try {
    JSON.parse(body);
    return true;
  } catch {
    return false;
  }
}
