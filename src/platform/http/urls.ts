/**
 * As `URL.canParse`, which denies names beyond ASCII once it is compiled (seen in Node 20).
 *
 * @param base - of a relative one.
 */
export function isUrl(text: string, base?: string | URL): boolean {
  try {
    new URL(text, base);
    return true;
  } catch {
    return false;
  }
}

/** Whether a URL is another one, or lies below it. */
export function isBelow(url: URL, site: URL): boolean {
  const folder = site.pathname.replace(/\/*$/, '/');
  return url.origin === site.origin && `${url.pathname}/`.startsWith(folder);
}

/** This machine, by the names of RFC 8252, section 7.3. */
export const LOOPBACK: ReadonlySet<string> = new Set(['127.0.0.1', '[::1]', 'localhost']);
