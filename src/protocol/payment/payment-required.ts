import { parseSellerJson } from './seller-json.js';
import type { JsonObject } from './wire-values.js';

/** The terms of a 402 as they were sent, unchecked. */
interface SentTerms {
  readonly version: 1 | 2;
  readonly accepts: readonly unknown[];
  /** The whole of it. */
  readonly sent: JsonObject;
}

/** Ways to pay that are looked at; what a seller says has to end somewhere. */
export const ACCEPTS_MAX = 50;

/**
 * The terms of a 402 of either version: V2 in the header `PAYMENT-REQUIRED`, V1 in the body. Where both are
 * there the header is read.
 *
 * @returns `undefined` where they are neither.
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

/** A header of base64 JSON; `undefined` when it is absent or is not one. */
export function readBase64Json(value: string | undefined): JsonObject | undefined {
  return value === undefined
    ? undefined
    : parseSellerJson(Buffer.from(value, 'base64').toString('utf8'));
}
