const [QUOTE, BACKSLASH] = [0x22, 0x5c];
const OPENING = new Set([0x5b, 0x7b]);
const CLOSING = new Set([0x5d, 0x7d]);

interface BracketBounds {
  readonly maxDepth: number;
  /** Number of all objects and lists. */
  readonly maxCount: number;
}

/**
 * Whether the nesting and the number of objects and lists of a JSON text are within limits. Checked before parsing,
 * because a megabyte of brackets blocks the parser for a fifth of a second.
 */
export function hasFewBrackets(json: Buffer, { maxDepth, maxCount }: BracketBounds): boolean {
  let [depth, count] = [0, 0];
  for (let at = 0; at < json.length; at += 1) {
    const byte = json[at] ?? 0;
    if (byte === QUOTE) at = endOfString(json, at + 1);
    else if (OPENING.has(byte)) {
      depth += 1;
      count += 1;
      if (depth > maxDepth || count > maxCount) return false;
    } else if (CLOSING.has(byte)) depth -= 1;
  }
  return true;
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
