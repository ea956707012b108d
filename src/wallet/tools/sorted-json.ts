import { isWithinBounds } from '../../protocol/payment/json-bounds.js';
import { isJsonObject, type JsonObject } from '../../protocol/payment/wire-values.js';
import { WalletError } from '../wallet-error.js';

const BOUNDS = { maxDepth: 32, maxValues: 10_000 } as const;
/** The same limit as the body of a purchase over HTTP. */
const MAX_CHARACTERS = 262_144;

/**
 * A JSON object as text with sorted keys, so that equal objects have equal texts.
 *
 * @throws WalletError for an object that is too large.
 */
export function sortedJson(value: JsonObject): string {
  const text = isWithinBounds(value, BOUNDS) ? JSON.stringify(sorted(value)) : undefined;
  if (text !== undefined && text.length <= MAX_CHARACTERS) return text;
  throw new WalletError(
    'invalid_request',
    `The arguments may have at most ${MAX_CHARACTERS} characters, ${BOUNDS.maxValues} values and ${BOUNDS.maxDepth} levels.`,
  );
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isJsonObject(value)) return value;
  const entries = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(entries.map(([name, child]) => [name, sorted(child)]));
}
