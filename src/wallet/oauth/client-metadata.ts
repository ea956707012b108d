import { LOOPBACK } from '../../platform/http/urls.js';
import { isWithinBounds } from '../../protocol/payment/json-bounds.js';

/** The metadata that clients send about themselves, and the part that is used. */

/** Besides the redirects there is a name and little else: see {@link keepKnown}. */
const METADATA_MAX_BYTES = 4096;
/** An object of texts and lists of texts. */
const METADATA_BOUNDS = { maxDepth: 2, maxValues: 500 } as const;
const REDIRECTS_MAX = 10;
const REDIRECT_MAX_CHARACTERS = 512;
const NAME_MAX_CHARACTERS = 64;

/** `cursor://host/path`, and the reversed domains of RFC 8252, section 7.1. */
const PRIVATE_USE = /^([a-z][a-z\d+.-]*:\/\/[^/?#]|[a-z][a-z\d-]*(\.[a-z\d-]+)+:\/)/i;
/** Browsers, mail programs and systems handle these schemes; none of them belongs to a client. */
const NOT_PRIVATE =
  /^(about|blob|chrome|chrome-extension|data|edge|file|filesystem|ftps?|https?|intent|jar|javascript|mailto|moz-extension|ms-.*|res|resource|search.*|shell|sms|ssh|tel|telnet|vbscript|view-source|wss?):$/;

/** The stored fields of a registration; other fields of the library are not used. */
const KEPT: ReadonlySet<string> = new Set([
  'client_id',
  'client_secret',
  'client_id_issued_at',
  'client_secret_expires_at',
  'client_name',
  'redirect_uris',
  'grant_types',
  'response_types',
  'token_endpoint_auth_method',
  'scope',
  'application_type',
]);
const GRANTS: ReadonlySet<string> = new Set(['authorization_code', 'refresh_token']);
const RESPONSES: ReadonlySet<string> = new Set(['code']);

/**
 * Removes unknown fields, scopes and grants and empty texts from a registration, as RFC 7591, section 2, allows. A list
 * that would become empty stays unchanged and is refused. No URL remains that the server would fetch.
 *
 * @param metadata - is changed.
 */
export function keepKnown(metadata: Record<string, unknown>, scopes: readonly string[]): void {
  keepKnownFields(metadata);
  const keep = (name: string, isKnown: (one: unknown) => boolean): void => {
    const list = metadata[name];
    const known = Array.isArray(list) ? list.filter(isKnown) : [];
    if (known.length > 0) metadata[name] = known;
  };
  keep('redirect_uris', (one) => one !== '');
  keep('grant_types', (one) => typeof one === 'string' && GRANTS.has(one));
  keep('response_types', (one) => typeof one === 'string' && RESPONSES.has(one));
  if (typeof metadata['scope'] === 'string') {
    const known = metadata['scope'].split(' ').filter((one) => scopes.includes(one));
    // Without a scope it may ask for all scopes; the owner reads them.
    if (known.length > 0) metadata['scope'] = known.join(' ');
    else Reflect.deleteProperty(metadata, 'scope');
  }
  // A native client may be answered on any port of this machine (RFC 8252, section 7.3); others only by https.
  const redirects = Array.isArray(metadata['redirect_uris']) ? metadata['redirect_uris'] : [];
  metadata['application_type'] = redirects.some(isSecureLoopback) ? 'web' : 'native';
}

/** Removes unknown and empty fields. @param metadata - is changed. */
export function keepKnownFields(metadata: Record<string, unknown>): void {
  for (const [name, value] of Object.entries(metadata)) {
    if (!KEPT.has(name) || value === '' || value === null) Reflect.deleteProperty(metadata, name);
  }
}

/** @returns the fault; `undefined` for a valid registration. */
export function problemOf(metadata: Readonly<Record<string, unknown>>): string | undefined {
  if (!isWithinBounds(metadata, METADATA_BOUNDS)) {
    return 'the metadata must be strings and lists of strings';
  }
  if (Buffer.byteLength(JSON.stringify(metadata)) > METADATA_MAX_BYTES) {
    return `the metadata must be at most ${METADATA_MAX_BYTES} bytes`;
  }
  const redirects = metadata['redirect_uris'];
  if (!Array.isArray(redirects)) return 'redirect_uris must be a list of strings';
  if (redirects.length > REDIRECTS_MAX)
    return `redirect_uris must have at most ${REDIRECTS_MAX} entries`;
  if (redirects.every(isRedirect)) return undefined;
  return 'redirect_uris must use https, http to this machine (127.0.0.1, [::1], localhost), or a private scheme of the client (name://host/path)';
}

/** A code is sent there, so the way must be safe. Another program with the same scheme has no proof key. */
function isRedirect(text: unknown): boolean {
  if (typeof text !== 'string' || text.length > REDIRECT_MAX_CHARACTERS) return false;
  if (!URL.canParse(text)) return false;
  const { protocol, hostname, username, password, hash } = new URL(text);
  if (username !== '' || password !== '' || hash !== '') return false;
  return (
    protocol === 'https:' ||
    (protocol === 'http:' && LOOPBACK.has(hostname)) ||
    isPrivateUse(text, protocol)
  );
}

function isPrivateUse(text: string, protocol: string): boolean {
  return PRIVATE_USE.test(text) && !NOT_PRIVATE.test(protocol);
}

function isSecureLoopback(text: unknown): boolean {
  if (typeof text !== 'string' || text.length > REDIRECT_MAX_CHARACTERS) return false;
  if (!URL.canParse(text)) return false;
  const { protocol, hostname } = new URL(text);
  return protocol === 'https:' && LOOPBACK.has(hostname);
}

/** The client's own name as text that can be shown and signed, without line breaks and hidden characters. */
export function shownName(name: unknown): string {
  if (typeof name !== 'string') return 'unnamed';
  const harmless = name.normalize('NFKC').replaceAll(/[^\p{L}\p{N} ._()+-]/gu, '');
  const cut = harmless.replaceAll(/ +/g, ' ').trim().slice(0, NAME_MAX_CHARACTERS);
  // The cut may go through a pair.
  const short = cut.replace(/\p{Cs}$/u, '').trim();
  return short === '' ? 'unnamed' : short;
}

/** The host that gets the code, as owners read it. A private scheme leads to a program, whatever follows it. */
export function shownHost(redirectUri: string): string {
  const { protocol, hostname, host } = new URL(redirectUri);
  const isWeb = protocol === 'https:' || protocol === 'http:';
  return !isWeb || LOOPBACK.has(hostname) ? 'a program on your own machine' : host;
}
