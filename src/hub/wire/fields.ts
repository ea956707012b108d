import { isLightJson } from '../../protocol/payment/json-bounds.js';
import { HubRefusal } from './hub-refusal.js';

/** Fields of a request by their names in lower case: clients differ in the case they send. */
export type Fields = ReadonlyMap<string, unknown>;

/**
 * The object in a JSON body. Content types are not looked at: `curl -d` sends JSON as a form.
 *
 * @throws HubRefusal with the words of the original's decoder.
 */
export function readJsonFields(body: Buffer): Fields {
  const text = body.toString('utf8').trim();
  if (text === '') throw HubRefusal.malformed('EOF');
  assertLight(body);
  const value = parseJson(text);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw HubRefusal.malformed(
      `json: cannot unmarshal ${jsonTypeOf(value)} into Go value of type types.MemeStruct`,
    );
  }
  return inLowerCase(Object.entries(value));
}

/** @throws HubRefusal when this JSON takes long to read. */
export function assertLight(json: Buffer): void {
  if (isLightJson(json)) return;
  throw HubRefusal.malformed('json: nested too deep, or too many objects, lists and fields');
}

/** Fields of a form, or of JSON in its place, and below them those of the query string. */
export function readFormFields(body: Buffer, query: Readonly<Record<string, unknown>>): Fields {
  const fields = inLowerCase(Object.entries(query));
  const text = body.toString('utf8').trim();
  const own = text.startsWith('{')
    ? readJsonFields(body)
    : inLowerCase([...new URLSearchParams(text)]);
  return new Map([...fields, ...own]);
}

/** A text field; empty when it is absent or `null`. Half of a surrogate pair becomes U+FFFD. */
export function textOf(fields: Fields, name: string): string {
  const value = fields.get(name);
  if (value === undefined || value === null) return '';
  if (typeof value === 'string') return value.toWellFormed();
  // A query that names a field twice.
  if (Array.isArray(value) && typeof value[0] === 'string') return value[0].toWellFormed();
  throw HubRefusal.malformed(
    `json: cannot unmarshal ${jsonTypeOf(value)} into Go struct field MemeStruct.${name} of type string`,
  );
}

/** A count in a query or form; any other text counts as absent. */
export function countOf(fields: Fields, name: string, otherwise: number, most: number): number {
  const value = fields.get(name);
  const text = typeof value === 'number' ? String(value) : value;
  if (typeof text !== 'string' || !/^\d{1,9}$/.test(text)) return otherwise;
  return Math.min(Number(text), most);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw HubRefusal.malformed(goMessageOf(text, error));
  }
}

/** V8 names the offset of what it stumbles over. */
function goMessageOf(text: string, error: unknown): string {
  const position = /at position (\d+)/.exec(error instanceof Error ? error.message : '')?.[1];
  const character = position === undefined ? undefined : text.charAt(Number(position));
  if (character === undefined || character === '') return 'unexpected EOF';
  return `invalid character ${JSON.stringify(character)} in JSON`;
}

function jsonTypeOf(value: unknown): string {
  if (Array.isArray(value)) return 'array';
  if (value === null) return 'null';
  return typeof value === 'boolean' ? 'bool' : typeof value;
}

function inLowerCase(entries: readonly (readonly [string, unknown])[]): Map<string, unknown> {
  return new Map(entries.map(([name, value]) => [name.toLowerCase(), value]));
}
