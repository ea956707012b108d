/** Limits of a JSON value, besides its bytes. */
export interface JsonBounds {
  /** Nested lists and objects; 0 for a plain value. */
  readonly maxDepth: number;
  /** Values of every kind, lists and objects too. */
  readonly maxValues: number;
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
