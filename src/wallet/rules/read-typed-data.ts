import { isWellFormed, isWithinBounds } from '../../protocol/payment/json-bounds.js';
import { isJsonObject } from '../../protocol/payment/wire-values.js';
import type { TypedData } from './spending.js';
import { type DigestedTypedData, withDigest } from './typed-data-digest.js';

/**
 * Limits far above the largest orders and batches of known contracts. Together they bound the cost of a digest: each
 * type and each value is hashed once.
 */
export const TYPED_DATA_BOUNDS = {
  /** Of the JSON. */
  maxCharacters: 32_768,
  /** Names of all types and fields together. */
  maxTypeCharacters: 8192,
  maxStructs: 20,
  /** Limit for one struct. */
  maxFields: 40,
  maxDepth: 12,
  /** Values of the message, including lists and objects. */
  maxValues: 500,
} as const;

const IDENTIFIER = /^[A-Za-z_]\w{0,63}$/;
const FIELD_TYPE = /^[A-Za-z_]\w{0,63}(\[\d{0,4}\]){0,4}$/;
/** A struct with such a name would have another meaning wherever it is used. */
const BUILT_IN_TYPE = /^(__proto__|address|bool|string|bytes\d*|u?int\d*)$/;

/**
 * Parses typed data with `primary_type` or `primaryType`.
 *
 * @returns `undefined` when it does not have the shape of EIP-712 typed data, exceeds the limits, or has a text with half
 *   of a surrogate pair, which would be signed as another text.
 */
export function readTypedData(sent: unknown): DigestedTypedData | undefined {
  const { maxCharacters, maxDepth, maxValues } = TYPED_DATA_BOUNDS;
  if (!isJsonObject(sent)) return undefined;
  const { types, domain, message } = sent;
  const primaryType = sent['primaryType'] ?? sent['primary_type'];
  if (!isJsonObject(types) || !isJsonObject(domain) || !isJsonObject(message)) return undefined;
  if (typeof primaryType !== 'string' || !IDENTIFIER.test(primaryType)) return undefined;
  if (![message, domain].every((part) => isWithinBounds(part, { maxDepth, maxValues }))) {
    return undefined;
  }
  const read = readTypes(types);
  if (read === undefined || JSON.stringify([domain, message]).length > maxCharacters) {
    return undefined;
  }
  if (!isWellFormed([domain, message])) return undefined;
  return withDigest({ types: read, domain, primaryType, message });
}

function readTypes(types: Readonly<Record<string, unknown>>): TypedData['types'] | undefined {
  const { maxStructs, maxFields, maxTypeCharacters } = TYPED_DATA_BOUNDS;
  const structs = Object.entries(types);
  if (structs.length > maxStructs) return undefined;
  const read: Record<string, { name: string; type: string }[]> = {};
  let characters = 0;
  for (const [struct, fields] of structs) {
    if (!IDENTIFIER.test(struct) || BUILT_IN_TYPE.test(struct)) return undefined;
    if (!Array.isArray(fields) || fields.length > maxFields) return undefined;
    const known: { name: string; type: string }[] = [];
    for (const field of fields as unknown[]) {
      if (!isJsonObject(field)) return undefined;
      const { name, type } = field;
      if (typeof name !== 'string' || !IDENTIFIER.test(name)) return undefined;
      if (typeof type !== 'string' || !FIELD_TYPE.test(type)) return undefined;
      characters += name.length + type.length;
      known.push({ name, type });
    }
    read[struct] = known;
    characters += struct.length;
    if (characters > maxTypeCharacters) return undefined;
  }
  return read;
}
