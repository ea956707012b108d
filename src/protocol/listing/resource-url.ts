import { isShortText } from '../payment/wire-values.js';
import type { Fault } from './listing.js';

/** UTF-16 units of a URL. */
const URL_MAX = 2048;

/** Private hosts, or host:port, that the operator lets be listed. Lower case. */
export type AllowedHosts = ReadonlySet<string>;

export interface ResourceUrl {
  /** Scheme, host and port; of `mcp:` too, of which a URL knows no origin. */
  readonly origin: string;
  readonly path: string;
  readonly host: string;
}

/** Names that lead nowhere outside, and names without a dot. */
const NOT_PUBLIC = /(?:^|\.)(?:local|localhost|localdomain|internal|lan|home\.arpa|test|invalid)$/;
const ADDRESS = /^\[|^\d{1,3}(?:\.\d{1,3}){3}$/;
const UNSEEN = /[\p{Cc}\p{Cf}\s]/u;

/**
 * Where something is sold, without query and fragment: those are of one purchase.
 *
 * @param path - of the field, for what is said of it.
 */
export function readResourceUrl(
  declared: unknown,
  path: string,
  allow: AllowedHosts,
): ResourceUrl | Fault {
  const expected = 'an absolute http:, https: or mcp: URL';
  if (declared === undefined || declared === null || declared === '') {
    return { code: 'resource_missing', path, expected };
  }
  const url =
    isShortText(declared, URL_MAX) && !UNSEEN.test(declared) ? parsed(declared) : undefined;
  if (url === undefined) return { code: 'resource_invalid', path, expected };
  if (url.protocol !== 'http:' && url.protocol !== 'https:' && url.protocol !== 'mcp:') {
    return { code: 'resource_scheme', path, expected };
  }
  if (url.username !== '' || url.password !== '') {
    return { code: 'resource_credentials', path, expected: 'a URL without a user and a password' };
  }
  const isTool = url.protocol === 'mcp:';
  const host = url.hostname.replace(/\.$/, '');
  const port = url.port === '' ? '' : `:${url.port}`;
  // Each character outside ASCII takes several once it is percent-encoded.
  const isLong = url.hostname.length + url.pathname.length > URL_MAX;
  if (host === '' || isLong) return { code: 'resource_invalid', path, expected };
  if (!isTool && !isPublicHost(host) && !allow.has(host) && !allow.has(`${host}${port}`)) {
    return { code: 'resource_not_public', path, expected: 'a public host name' };
  }
  return { origin: `${url.protocol}//${host}${port}`, path: url.pathname, host };
}

export function isFault(read: ResourceUrl | Fault): read is Fault {
  return 'code' in read;
}

/** A name with a dot that is not kept for private use. An IP address may change its owner, so none is listed. */
function isPublicHost(host: string): boolean {
  return host.includes('.') && !ADDRESS.test(host) && !NOT_PUBLIC.test(host);
}

/** The URL of a picture. This service never fetches it. */
export function iconUrlOf(declared: unknown): string | undefined {
  const url =
    isShortText(declared, URL_MAX) && !UNSEEN.test(declared) ? parsed(declared) : undefined;
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:') return undefined;
  const isPlain = url.username === '' && url.password === '';
  return isPlain && isPublicHost(url.hostname.replace(/\.$/, '')) ? url.href : undefined;
}

/** `URL.canParse` denies names beyond ASCII once it is compiled (seen in Node 20). */
function parsed(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}

const TEMPLATE = /^\/[a-zA-Z0-9_/:.\-~%]+$/;
/** The last one must not change anything any more. */
const DECODINGS_MAX = 5;

/**
 * The template of a route, where it is one and stands for the path it came with: parameter by parameter, part
 * by part. Else a seller could stand for paths it does not sell.
 */
export function routeTemplateOf(declared: unknown, path: string): string | undefined {
  if (!isShortText(declared, URL_MAX) || !TEMPLATE.test(declared)) return undefined;
  const decoded = fullyDecoded(declared);
  if (decoded === undefined || decoded.includes('..') || decoded.includes('://')) return undefined;
  return standsForParts(declared.split('/'), path.split('/')) ? declared : undefined;
}

/** Scheme, nothing, and host with port: what stands before the path of a URL that is split at its slashes. */
const PARTS_BEFORE_PATH = 3;

/**
 * Whether a template stands for a URL. Both are whole, without query and fragment; parameters are in the path alone.
 */
export function standsFor(template: string, url: string): boolean {
  const [wanted, given] = [template.split('/'), url.split('/')];
  const isOfOrigin = wanted
    .slice(0, PARTS_BEFORE_PATH)
    .every((part, index) => part === given[index]);
  return (
    isOfOrigin && standsForParts(wanted.slice(PARTS_BEFORE_PATH), given.slice(PARTS_BEFORE_PATH))
  );
}

function standsForParts(wanted: readonly string[], given: readonly string[]): boolean {
  return (
    wanted.length === given.length &&
    wanted.every((part, index) => isPartOf(part, given[index] ?? ''))
  );
}

/** `:name` stands for anything but nothing, also within a part: `file-:id.json`. */
function isPartOf(template: string, part: string): boolean {
  const [first = '', ...rest] = template.split(/:[a-zA-Z_]\w*/);
  if (rest.length === 0) return template === part;
  if (!part.startsWith(first)) return false;
  let at = first.length;
  for (const [index, text] of rest.entries()) {
    // At least one character stands for the parameter.
    const isLast = index === rest.length - 1;
    const found = isLast ? part.length - text.length : part.indexOf(text, at + 1);
    if (found < at + 1 || !part.startsWith(text, found)) return false;
    at = found + text.length;
  }
  return true;
}

function fullyDecoded(text: string): string | undefined {
  let decoded = text;
  for (let pass = 0; pass < DECODINGS_MAX; pass += 1) {
    let next: string;
    try {
      next = decodeURIComponent(decoded);
    } catch {
      return undefined;
    }
    if (next === decoded) return decoded;
    decoded = next;
  }
  return undefined;
}
