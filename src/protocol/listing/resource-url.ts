import { isShortText } from '../payment/wire-values.js';
import type { Fault } from './listing.js';

/** Maximum UTF-16 units of a URL. */
const URL_MAX = 2048;

/** Private hosts, or host:port, that the operator allows in the catalogue. Lower case. */
export type AllowedHosts = ReadonlySet<string>;

export interface ResourceUrl {
  /** Scheme, host and port; also for `mcp:`, for which `URL` has no origin. */
  readonly origin: string;
  readonly path: string;
  readonly host: string;
}

/** Names that are not reachable from outside, and names without a dot. */
const NOT_PUBLIC = /(?:^|\.)(?:local|localhost|localdomain|internal|lan|home\.arpa|test|invalid)$/;
const ADDRESS = /^\[|^\d{1,3}(?:\.\d{1,3}){3}$/;
const UNSEEN = /[\p{Cc}\p{Cf}\s]/u;

/**
 * The URL of a sold resource, without query and fragment, which belong to one purchase.
 *
 * @param path - of the field, for messages.
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
  // A character outside ASCII becomes longer by percent-encoding.
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

/** Whether a host has a public name. IP addresses are not listed, because their owner may change. */
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

/** A compiled `URL.canParse` wrongly refuses names outside ASCII (seen in Node 20). */
function parsed(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}

const TEMPLATE = /^\/[a-zA-Z0-9_/:.\-~%]+$/;
/** Decodings per path; the last one must not change anything. */
const DECODINGS_MAX = 5;

/**
 * The declared route template, if it matches the path of the payment parameter by parameter. Otherwise a seller could
 * claim paths of others.
 */
export function routeTemplateOf(declared: unknown, path: string): string | undefined {
  if (!isShortText(declared, URL_MAX) || !TEMPLATE.test(declared)) return undefined;
  const decoded = fullyDecoded(declared);
  if (decoded === undefined || decoded.includes('..') || decoded.includes('://')) return undefined;
  return standsForParts(declared.split('/'), path.split('/')) ? declared : undefined;
}

/** Scheme, empty part, and host with port: the parts before the path of a URL split at slashes. */
const PARTS_BEFORE_PATH = 3;

/** Whether a template matches a URL. Both are without query and fragment; only the path has parameters. */
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

/** `:name` matches one or more characters, also within a part: `file-:id.json`. */
function isPartOf(template: string, part: string): boolean {
  const [first = '', ...rest] = template.split(/:[a-zA-Z_]\w*/);
  if (rest.length === 0) return template === part;
  if (!part.startsWith(first)) return false;
  let at = first.length;
  for (const [index, text] of rest.entries()) {
    // At least one character matches the parameter.
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
