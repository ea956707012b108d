import { parseSellerJson } from './seller-json.js';
import type { JsonObject } from './wire-values.js';

/** The terms of a 402, not checked yet. */
interface SentTerms {
  readonly version: 1 | 2;
  readonly accepts: readonly unknown[];
  /** The complete object. */
  readonly sent: JsonObject;
}

/** Limit of offers that are read. */
export const ACCEPTS_MAX = 50;

/**
 * The terms of a 402: for V2 in the header `PAYMENT-REQUIRED`, for V1 in the body. The header wins if both are
 * present.
 *
 * @returns `undefined` for neither.
 */
export function readSentTerms(header: string | undefined, body: string): SentTerms | undefined {
  const sent = readBase64Json(header) ?? parseSellerJson(body);
  const version = sent?.['x402Version'];
  const accepts = sent?.['accepts'];
  if (sent === undefined || (version !== 1 && version !== 2) || !Array.isArray(accepts)) {
    return undefined;
  }
  return { version, accepts: accepts as readonly unknown[], sent };
}

/** A header of base64 JSON; `undefined` if it is absent or malformed. */
export function readBase64Json(value: string | undefined): JsonObject | undefined {
  return value === undefined
    ? undefined
    : parseSellerJson(Buffer.from(value, 'base64').toString('utf8'));
}
