import { isJsonObject, isShortText, type JsonObject } from '../payment/wire-values.js';

/** UTF-16 units of a text for people. */
const DESCRIPTION_MAX = 500;
/** Of a name or a tag, after the extension's specification. */
const NAME_MAX = 32;
const TAGS_MAX = 5;
/** More are not looked at. */
const TAGS_READ_MAX = 100;
const MIME_MAX = 100;
const KEY_MAX = 128;

/** Control and format characters, private ones and separators of lines: what is not seen, or turns what is seen around. */
const UNSEEN = /[\p{Cc}\p{Co}\p{Cs}\p{Zl}\p{Zp}\u{E0100}-\u{E01EF}]|(?![\u200C\u200D])\p{Cf}/gu;
/** The same in data, where lines and tabs have a meaning. */
const UNSEEN_IN_DATA =
  /(?![\t\n\r])[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u{E0100}-\u{E01EF}]|(?![\u200C\u200D])\p{Cf}/gu;
const TAG = /<\/?[a-z!][^<>]*>/gi;
/** The rest of a tag that was nested in another one. */
const REST_OF_TAG = /<(?=[a-z/!?])/gi;
/** Without what opens and closes a tag. */
const PRINTABLE = /^[\x20-\x3b\x3d\x3f-\x7e]+$/;
const MIME = /^[\w.+-]{1,50}\/[\w.+*-]{1,50}(?:; ?[\w-]{1,20}=[\w.+"-]{1,30})?$/;

/** A text of one line without tags, or nothing; and whether that is less than was said. */
interface PlainText {
  readonly text: string | undefined;
  readonly isCut: boolean;
}

/** A seller's text as people may be shown it. */
export function plainText(declared: unknown, most: number = DESCRIPTION_MAX): PlainText {
  if (typeof declared !== 'string') return { text: undefined, isCut: declared !== undefined };
  // Bounded first: nothing below costs more for a longer one.
  const bounded = declared.slice(0, most * 4).replace(/\s+/g, ' ');
  const plain = bounded.replace(UNSEEN, '').replace(TAG, '').replace(REST_OF_TAG, '');
  const clean = plain.trim();
  const text = clean.slice(0, most).replace(/[\uD800-\uDBFF]$/, '');
  return { text: text === '' ? undefined : text, isCut: text.length < declared.length };
}

/**
 * Whether it can be looked for: no zero and no half of a character, which no database keeps, and no sign that
 * stands for bytes which were no text.
 */
export function isText(declared: string): boolean {
  return !/[\0\p{Cs}\uFFFD]/u.test(declared);
}

/** The name of a service: some printable characters. */
export function serviceNameOf(declared: unknown): string | undefined {
  return isShortText(declared, NAME_MAX) && PRINTABLE.test(declared) ? declared : undefined;
}

/** The first five tags that are some, each once. */
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

/** Names that mean something else to programs than to the seller. */
const DANGEROUS: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype']);

/**
 * A copy of JSON without what is not seen and without names that programs stumble over. It calls itself: the
 * depth has to be bounded before.
 *
 * @param leaveOut - names that are left out at any depth.
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
  // Judged as it is published: what is not seen may hide a name.
  const kept = Object.entries(value)
    .map(([name, one]) => [nameSeen(name), one] as const)
    .filter(([name]) => name.length <= KEY_MAX && !DANGEROUS.has(name) && !leaveOut.has(name));
  return Object.fromEntries(kept.map(([name, one]) => [name, plainJson(one, leaveOut)] as const));
}

/** The name of a member, without what is not seen. */
export function nameSeen(name: string): string {
  // Bounded first: a longer one is left out.
  return name.slice(0, 2 * KEY_MAX).replace(UNSEEN, '');
}

const NOTHING: ReadonlySet<string> = new Set();
