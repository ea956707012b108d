/** Whether a URL is another one, or lies below it. */
export function isBelow(url: URL, site: URL): boolean {
  const folder = site.pathname.replace(/\/*$/, '/');
  return url.origin === site.origin && `${url.pathname}/`.startsWith(folder);
}
