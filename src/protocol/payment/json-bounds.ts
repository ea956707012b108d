/** Limits of a JSON value, besides its bytes. */
export interface JsonBounds {
  /** Nested lists and objects; 0 for a plain value. */
  readonly maxDepth: number;
  /** Values of every kind, lists and objects too. */
  readonly maxValues: number;
}

const [QUOTE, COLON, BACKSLASH] = [0x22, 0x3a, 0x5c];
const OPENING = new Set([0x5b, 0x7b]);
const CLOSING = new Set([0x5d, 0x7d]);

/** Far above any request. */
const MAX_DEPTH = 64;
/** Number of all objects and lists, and of all their named fields. */
const MAX_COUNT = 20_000;
/** In fewer bytes, brackets and names cost less than the reading of the text. */
const FEW_BYTES = 16_384;

/**
 * Whether nesting, objects, lists and fields of a JSON text are within limits. Checked before parsing, because a megabyte
 * of brackets blocks the parser for a fifth of a second, and four megabytes of names for a whole one.
 */
export function isLightJson(json: Buffer | string): boolean {
  if (json.length <= FEW_BYTES) return true;
  const bytes = typeof json === 'string' ? Buffer.from(json) : json;
  let [depth, count, names] = [0, 0, 0];
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] ?? 0;
    if (byte === QUOTE) at = endOfString(bytes, at + 1);
    else if (OPENING.has(byte)) {
      depth += 1;
      count += 1;
      if (depth > MAX_DEPTH || count > MAX_COUNT) return false;
    } else if (CLOSING.has(byte)) depth -= 1;
    else if (byte === COLON) {
      names += 1;
      if (names > MAX_COUNT) return false;
    }
  }
  return true;
}

/**
 * The value of a JSON text from outside.
 *
 * @returns `undefined` for malformed text, for one that takes long to parse, and for a value beyond its limits.
 */
export function parseWithinBounds(json: string, bounds: JsonBounds): unknown {
  if (!isLightJson(json)) return undefined;
  try {
    const value: unknown = JSON.parse(json);
    return isWithinBounds(value, bounds) ? value : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Whether a parsed value is within its limits. JSON.parse accepts any depth, but recursive code (JSON.stringify, a
 * schema, a hash) ends in a stack overflow.
 */
export function isWithinBounds(value: unknown, { maxDepth, maxValues }: JsonBounds): boolean {
  let level: readonly unknown[] = [value];
  let count = 1;
  for (let depth = 0; level.length > 0; depth += 1) {
    const next: unknown[] = [];
    for (const one of level) {
      if (typeof one !== 'object' || one === null) continue;
      if (depth === maxDepth) return false;
      for (const child of Object.values(one)) {
        count += 1;
        if (count > maxValues) return false;
        next.push(child);
      }
    }
    level = next;
  }
  return true;
}

/**
 * Whether no text in a value has half of a surrogate pair. UTF-8 has no bytes for such a half: the text would change when
 * it is stored, hashed or signed.
 *
 * @param value - with bounded depth and size.
 */
export function isWellFormed(value: unknown): boolean {
  if (typeof value === 'string') return value.isWellFormed();
  if (typeof value !== 'object' || value === null) return true;
  return Object.entries(value).every(([name, child]) => name.isWellFormed() && isWellFormed(child));
}

/** @returns the position of the closing quote, or the end of the text. */
function endOfString(json: Buffer, from: number): number {
  let at = json.indexOf(QUOTE, from);
  while (at !== -1 && isEscaped(json, at, from)) at = json.indexOf(QUOTE, at + 1);
  return at === -1 ? json.length : at;
}

function isEscaped(json: Buffer, quote: number, from: number): boolean {
  let at = quote - 1;
  while (at >= from && json[at] === BACKSLASH) at -= 1;
  return (quote - 1 - at) % 2 === 1;
}
