import { isAllowedHost, isPrivateLiteral } from '../../platform/fetch/address-guard.js';
import { isUrl } from '../../platform/http/urls.js';

/**
 * The problem of a URL, as far as it shows without resolving its name.
 *
 * @param allow - hosts that may be private, and may use http.
 */
export function problemOfUrl(text: string, allow: ReadonlySet<string>): string | undefined {
  // A URL is read without blanks around it, and would be kept with them.
  if (!isUrl(text) || /\s/.test(text)) return 'url: must be a URL.';
  const url = new URL(text);
  const { protocol, username, password, hash } = url;
  if (protocol !== 'https:' && protocol !== 'http:') return 'url: must begin with https.';
  if (username !== '' || password !== '') return 'url: must not contain credentials.';
  if (hash !== '') return 'url: must not have a fragment, because it is not sent.';
  if (isAllowedHost(url, allow)) return undefined;
  if (protocol === 'http:') return 'url: must begin with https.';
  return isPrivateLiteral(url) ? 'url: must have a public address.' : undefined;
}
