import type { Answer } from './discovery.js';

/** Of entries that are shown again and again, and of nothing that is gone. */
const texts = new WeakMap<object, string>();

/**
 * An answer as JSON, the same as `JSON.stringify` writes. The text of a list item is cached with
 * its object.
 */
export function pageText(answer: Answer): string {
  const fields = Object.entries(answer)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${JSON.stringify(name)}:${valueText(value)}`);
  return `{${fields.join(',')}}`;
}

function valueText(value: unknown): string {
  if (!Array.isArray(value)) return JSON.stringify(value);
  return `[${value.map(itemText).join(',')}]`;
}

function itemText(item: unknown): string {
  // A list has a place for what JSON has no word for.
  if (item === undefined) return 'null';
  if (typeof item !== 'object' || item === null) return JSON.stringify(item);
  const before = texts.get(item);
  if (before !== undefined) return before;
  const text = JSON.stringify(item);
  texts.set(item, text);
  return text;
}
