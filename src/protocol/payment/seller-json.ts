import { isWithinBounds } from './json-bounds.js';
import { isJsonObject, type JsonObject } from './wire-values.js';

/** Of what a seller says; the bytes are bounded where they are fetched. */
const SELLER_BOUNDS = { maxDepth: 16, maxValues: 5000 } as const;

/** The JSON object that a seller sent; `undefined` for other JSON, malformed text, and text that is too long. */
export function parseSellerJson(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) && isWithinBounds(value, SELLER_BOUNDS) ? value : undefined;
  } catch {
    return undefined;
  }
}
