import { isIP } from 'node:net';

/**
 * Whether a request came under a name of ours. A site elsewhere can give its own name our address (DNS
 * rebinding): a browser on this machine then asks us, and takes what we answer for that site's. An address
 * in place of a name cannot be given to anybody, and what names no host is no browser.
 *
 * @param host - the `Host` of the request.
 * @param names - in lower case, without ports.
 */
export function isServedHere(host: string | undefined, names: readonly string[]): boolean {
  if (host === undefined) return true;
  const name = host.toLowerCase().replace(/:\d+$/, '').replace(/\.$/, '');
  return isIP(name.replace(/^\[(.*)\]$/, '$1')) !== 0 || names.includes(name);
}
