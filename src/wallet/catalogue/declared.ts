import { mimeTypeOf, plainObject, plainText } from '../../protocol/listing/seller-words.js';
import { isWithinBounds, type JsonBounds } from '../../protocol/payment/json-bounds.js';
import { isJsonObject, type JsonObject } from '../../protocol/payment/wire-values.js';

/**
 * Texts of sellers as agents get them: short, one line, without invisible characters and links. They stay untrusted
 * data; the place that shows them says that they are no instructions.
 */

const DESCRIPTION_MAX = 300;
const NAME_MAX = 32;
const TAGS_MAX = 5;
/** Characters of JSON. */
const JSON_MAX = 4096;
const JSON_BOUNDS: JsonBounds = { maxDepth: 16, maxValues: 2000 };

interface DeclaredWords {
  readonly serviceName?: string;
  readonly description?: string;
  readonly tags?: string[];
  readonly mimeType?: string;
}

export function declaredWords(sent: JsonObject): DeclaredWords {
  const { mimeType } = sent;
  const serviceName = wordsOf(sent['serviceName'], NAME_MAX);
  const description = wordsOf(sent['description'], DESCRIPTION_MAX);
  const declared = Array.isArray(sent['tags']) ? (sent['tags'] as unknown[]) : [];
  const tags = declared.slice(0, TAGS_MAX).flatMap((tag) => wordsOf(tag, NAME_MAX) ?? []);
  const mime = mimeTypeOf(mimeType);
  return {
    ...(serviceName !== undefined && { serviceName }),
    ...(description !== undefined && { description }),
    ...(tags.length > 0 && { tags }),
    ...(mime !== undefined && { mimeType: mime }),
  };
}

export function wordsOf(declared: unknown, most: number): string | undefined {
  const { text } = plainText(declared, most);
  return text === undefined ? undefined : withoutLinks(text);
}

/** JSON of a seller without links and invisible characters; `undefined` if it is too large. */
export function declaredJson(declared: unknown): JsonObject | undefined {
  if (!isJsonObject(declared) || !isWithinBounds(declared, JSON_BOUNDS)) return undefined;
  const plain = withoutLinksIn(plainObject(declared)) as JsonObject;
  return JSON.stringify(plain).length <= JSON_MAX ? plain : undefined;
}

/**
 * Removes all Markdown links and pictures: a program that shows the agent's text would load a picture by itself, and so
 * send data in its URL.
 */
function withoutLinks(text: string): string {
  return text.replace(/\](?=[([:])/g, '] ');
}

/** Recursive: the depth was limited before. */
function withoutLinksIn(value: unknown): unknown {
  if (typeof value === 'string') return withoutLinks(value);
  if (Array.isArray(value)) return value.map(withoutLinksIn);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [withoutLinks(name), withoutLinksIn(one)]),
  );
}
