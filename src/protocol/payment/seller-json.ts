import { parseWithinBounds } from './json-bounds.js';
import { isJsonObject, type JsonObject } from './wire-values.js';

/** Limits for JSON of a seller; the fetch limits its bytes. */
const SELLER_BOUNDS = { maxDepth: 16, maxValues: 5000 } as const;

/** The JSON object that a seller sent; `undefined` for other JSON, malformed text, and text that is too long. */
export function parseSellerJson(text: string): JsonObject | undefined {
  const value = parseWithinBounds(text, SELLER_BOUNDS);
  return isJsonObject(value) ? value : undefined;
}
