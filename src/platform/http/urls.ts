/**
 * Like `URL.canParse`, which wrongly refuses names outside ASCII when compiled (seen in Node 20).
 *
 * @param base - for a relative URL.
 */
export function isUrl(text: string, base?: string | URL): boolean {
  try {
    new URL(text, base);
    return true;
  } catch {
    return false;
  }
}

/** Whether a URL equals another URL, or is below it. */
export function isBelow(url: URL, site: URL): boolean {
  const folder = site.pathname.replace(/\/*$/, '/');
  return url.origin === site.origin && `${url.pathname}/`.startsWith(folder);
}

/** Names of this machine (RFC 8252, section 7.3). */
export const LOOPBACK: ReadonlySet<string> = new Set(['127.0.0.1', '[::1]', 'localhost']);
