import { isJsonObject, isShortText, type JsonObject } from '../payment/wire-values.js';

/** Maximum UTF-16 units of a text for people. */
const DESCRIPTION_MAX = 500;
/** Maximum length of a name or a tag, as in the extension's specification. */
const NAME_MAX = 32;
const TAGS_MAX = 5;
/** Further tags are ignored. */
const TAGS_READ_MAX = 100;
const MIME_MAX = 100;
const KEY_MAX = 128;

/**
 * Invisible characters: control and format characters, private characters and line separators. They can hide or
 * reverse text.
 */
const UNSEEN = /[\p{Cc}\p{Co}\p{Cs}\p{Zl}\p{Zp}\u{E0100}-\u{E01EF}]|(?![\u200C\u200D])\p{Cf}/gu;
/** Invisible characters in data, where line breaks and tabs have a meaning. */
const UNSEEN_IN_DATA =
  /(?![\t\n\r])[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u{E0100}-\u{E01EF}]|(?![\u200C\u200D])\p{Cf}/gu;
const TAG = /<\/?[a-z!][^<>]*>/gi;
/** The rest of a tag that was nested in another tag. */
const REST_OF_TAG = /<(?=[a-z/!?])/gi;
/** Printable ASCII without angle brackets. */
const PRINTABLE = /^[\x20-\x3b\x3d\x3f-\x7e]+$/;
const MIME = /^[\w.+-]{1,50}\/[\w.+*-]{1,50}(?:; ?[\w-]{1,20}=[\w.+"-]{1,30})?$/;

/** A text of one line without tags, or `undefined`; and whether it was shortened. */
interface PlainText {
  readonly text: string | undefined;
  readonly isCut: boolean;
}

/** Makes a text of a seller safe to show. */
export function plainText(declared: unknown, most: number = DESCRIPTION_MAX): PlainText {
  if (typeof declared !== 'string') return { text: undefined, isCut: declared !== undefined };
  // Cut before the replacements, so that their cost is bounded.
  const bounded = declared.slice(0, most * 4).replace(/\s+/g, ' ');
  const plain = bounded.replace(UNSEEN, '').replace(TAG, '').replace(REST_OF_TAG, '');
  const clean = plain.trim();
  const text = clean.slice(0, most).replace(/[\uD800-\uDBFF]$/, '');
  return { text: text === '' ? undefined : text, isCut: text.length < declared.length };
}

/**
 * Whether a text can be searched: it has no zero bytes and half characters, which databases refuse, and no
 * replacement characters.
 */
export function isText(declared: string): boolean {
  return !/[\0\p{Cs}\uFFFD]/u.test(declared);
}

/** The name of a service: some printable characters. */
export function serviceNameOf(declared: unknown): string | undefined {
  return isShortText(declared, NAME_MAX) && PRINTABLE.test(declared) ? declared : undefined;
}

/** The first five valid tags, each once. */
export function tagsOf(declared: unknown): readonly string[] | undefined {
  if (!Array.isArray(declared)) return undefined;
  const tags = new Map<string, string>();
  for (const one of declared.slice(0, TAGS_READ_MAX) as readonly unknown[]) {
    const tag = serviceNameOf(one);
    if (tag !== undefined && !tags.has(tag.toLowerCase())) tags.set(tag.toLowerCase(), tag);
    if (tags.size === TAGS_MAX) break;
  }
  return tags.size === 0 ? undefined : [...tags.values()];
}

export function mimeTypeOf(declared: unknown): string | undefined {
  return isShortText(declared, MIME_MAX) && MIME.test(declared) ? declared : undefined;
}

/** Member names with a special meaning in JavaScript. */
const DANGEROUS: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype']);

/**
 * A copy of JSON without invisible characters and dangerous names. The function is recursive, so the caller must
 * limit the depth.
 *
 * @param leaveOut - names to drop at any depth.
 */
export function plainJson(value: unknown, leaveOut: ReadonlySet<string> = NOTHING): unknown {
  if (typeof value === 'string') return value.replace(UNSEEN_IN_DATA, '');
  if (Array.isArray(value)) return value.map((one) => plainJson(one, leaveOut));
  return isJsonObject(value) ? plainObject(value, leaveOut) : value;
}

/** {@link plainJson} of an object. */
export function plainObject(
  value: JsonObject,
  leaveOut: ReadonlySet<string> = NOTHING,
): JsonObject {
  // Names are compared after invisible characters are removed.
  const kept = Object.entries(value)
    .map(([name, one]) => [nameSeen(name), one] as const)
    .filter(([name]) => name.length <= KEY_MAX && !DANGEROUS.has(name) && !leaveOut.has(name));
  return Object.fromEntries(kept.map(([name, one]) => [name, plainJson(one, leaveOut)] as const));
}

/** The name of a member without invisible characters. */
export function nameSeen(name: string): string {
  // Cut before the replacement; longer names are dropped.
  return name.slice(0, 2 * KEY_MAX).replace(UNSEEN, '');
}

const NOTHING: ReadonlySet<string> = new Set();
