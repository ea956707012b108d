import { isJsonObject, type JsonObject } from '../payment/wire-values.js';
import type { FieldRule, Finding } from './finding.js';

/**
 * The first rule that a value breaks. A parent that is no object is what is wrong, not its fields.
 *
 * @param root - names from the body's root to the value, joined by dots.
 */
export function firstBrokenField(
  root: string,
  value: JsonObject,
  rules: readonly FieldRule[],
): Finding | undefined {
  for (const { path, expected, isGood, fix } of rules) {
    let at: unknown = value;
    const names = [root];
    for (const name of path) {
      if (!isJsonObject(at)) return { path: names.join('.'), expected: 'an object', got: at };
      at = Object.hasOwn(at, name) ? at[name] : undefined;
      names.push(name);
    }
    if (!isGood(at)) {
      return { path: names.join('.'), expected, got: at, ...(fix !== undefined && { fix }) };
    }
  }
  return undefined;
}
