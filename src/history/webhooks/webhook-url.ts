import { isAllowedHost, isPrivateLiteral } from '../../platform/fetch/address-guard.js';
import { isUrl } from '../../platform/http/urls.js';

/**
 * The rule that a URL breaks, as far as that is visible without resolving its name.
 *
 * @param allow - hosts that may be private, and may use http.
 */
export function brokenUrlRule(text: string, allow: ReadonlySet<string>): string | undefined {
  // The URL parser ignores surrounding blanks, but they would be stored.
  if (!isUrl(text) || /\s/.test(text)) return 'a URL';
  const url = new URL(text);
  const { protocol, username, password, hash } = url;
  if (protocol !== 'https:' && protocol !== 'http:') return 'a URL that begins with https';
  if (username !== '' || password !== '') return 'a URL without credentials';
  if (hash !== '') return 'a URL without a fragment, because a fragment is not sent';
  if (isAllowedHost(url, allow)) return undefined;
  if (protocol === 'http:') return 'a URL that begins with https';
  return isPrivateLiteral(url) ? 'a URL with a public address' : undefined;
}
