/** What strangers say of their client, and what is believed of it. */

const METADATA_MAX_CHARACTERS = 8192;
const REDIRECTS_MAX = 10;
const REDIRECT_MAX_CHARACTERS = 512;
const NAME_MAX_CHARACTERS = 64;

/** This machine, by the names of RFC 8252, section 7.3. */
const LOOPBACK: ReadonlySet<string> = new Set(['127.0.0.1', '[::1]', 'localhost']);

/** @returns what is wrong with it; `undefined` for what may be registered. */
export function problemOf(metadata: Readonly<Record<string, unknown>>): string | undefined {
  if (JSON.stringify(metadata).length > METADATA_MAX_CHARACTERS) {
    return `the metadata must be at most ${METADATA_MAX_CHARACTERS} characters`;
  }
  const redirects = metadata['redirect_uris'];
  if (!Array.isArray(redirects) || redirects.length > REDIRECTS_MAX) {
    return `redirect_uris must be at most ${REDIRECTS_MAX}`;
  }
  if (redirects.every(isRedirect)) return undefined;
  return 'redirect_uris must be by https, or by http to this machine (127.0.0.1, [::1], localhost)';
}

/** A code is sent there: nobody between may read it, and no other program may answer to its scheme. */
function isRedirect(text: unknown): boolean {
  if (typeof text !== 'string' || text.length > REDIRECT_MAX_CHARACTERS) return false;
  if (!URL.canParse(text)) return false;
  const { protocol, hostname, username, password, hash } = new URL(text);
  if (username !== '' || password !== '' || hash !== '') return false;
  return protocol === 'https:' || (protocol === 'http:' && LOOPBACK.has(hostname));
}

/** The name a client gives itself, as text that can be shown and signed: nothing in it ends a line or hides. */
export function shownName(name: unknown): string {
  if (typeof name !== 'string') return 'unnamed';
  const harmless = name.normalize('NFKC').replaceAll(/[^\p{L}\p{N} ._()+-]/gu, '');
  const short = harmless.replaceAll(/ +/g, ' ').trim().slice(0, NAME_MAX_CHARACTERS).trim();
  return short === '' ? 'unnamed' : short;
}

/** The host that gets the code, as owners read it. */
export function shownHost(redirectUri: string): string {
  const { hostname, host } = new URL(redirectUri);
  return LOOPBACK.has(hostname) ? 'a program on your own machine' : host;
}
